import { expect, it } from 'vitest';
import { simulated } from '../support/preset.js';
import { runProgram, serve } from '../support/serving.js';

it('says of each device how much a model needs there, since memory of different devices is never one amount', async () => {
  const split = { 'sim-size': '6GiB', device: 'CUDA0,CUDA1' };
  const alone = { 'sim-size': '3GiB', device: 'CUDA1' };
  await using served = await serve(...simulated('CUDA0=24GiB,CUDA1=24GiB', { split, alone }));
  await served.until('both are measured', ({ models }) => models.every(({ memory }) => memory.status === 'measured'));
  const { stdout } = await runProgram(['ps', '--state-dir', served.stateDirectory], served.directory);
  expect(stdout).toMatch(/^MODEL +STATE +ON +GiB +REQ/mu);
  expect(stdout).toMatch(/^split +UNLOADED +CUDA0\+CUDA1 +3\.0\+3\.0 /mu);
  expect(stdout).toMatch(/^alone +UNLOADED +CUDA1 +3\.0 /mu);
});
