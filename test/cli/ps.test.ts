import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { fakeNvidiaSmi } from '../support/fake-nvidia-smi.js';
import { simulated } from '../support/preset.js';
import { runProgram, serve, serveIn, temporaryDirectory } from '../support/serving.js';

const hasDriver = existsSync('/proc/driver/nvidia') || process.platform === 'win32';

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

it.skipIf(hasDriver)('marks a device whose models are known by their claims only, and no other', async () => {
  const { file } = fakeNvidiaSmi({
    gpus: 'GPU-a, 00000000:01:00.0, RTX 3090, 24576, 9000, 15200, [N/A]',
    apps: `GPU-a, ${2 ** 22 + 99}, [N/A]`,
  });
  const PATH = `${dirname(file)}:${process.env['PATH'] ?? ''}`;
  await using served = await serveIn(temporaryDirectory(), ['--engine', 'embedded'], { PATH });
  await served.until('it is read', ({ devices }) =>
    devices.some(({ name, sampledAt }) => name === 'CUDA0' && sampledAt),
  );
  const { stdout } = await runProgram(['ps', '--state-dir', served.stateDirectory], served.directory);
  expect(stdout).toMatch(/^CUDA0 .* GiB +by claims$/mu);
  expect(stdout).toMatch(/^Host .* GiB$/mu);
});
