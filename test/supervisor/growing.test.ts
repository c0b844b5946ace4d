import { expect, it } from 'vitest';
import { readLedger, writeHolding } from '../../src/devices/sim-ledger.js';
import { GIB } from '../../src/scheduler/units.js';
import { pathsFor } from '../../src/supervisor/paths.js';
import { simulated } from '../support/preset.js';
import { runProgram, serve, testEnvironment } from '../support/serving.js';
import { until } from '../support/until.js';

it('a child that takes ever more is named where its supervisor prints, and counts for it, also after it has gone', async () => {
  const model = { 'sim-size': '8GiB', 'sim-load-seconds': 0.1 };
  await using served = await serve(...simulated('CUDA0=24GiB', { leaky: model }));
  const { simulation } = pathsFor(served.stateDirectory, testEnvironment(served.directory));
  await served.post('/supervisor/load', { model: 'leaky' });
  const { claim, pid } = await served.until('it is up', ({ models: [leaky] }) => leaky?.word === 'ready' && leaky);
  expect(claim).toEqual({ CUDA0: 8 * GIB });
  // A leak, seen from outside: what its process holds grows, and it says nothing.
  const holding = readLedger(simulation).holdings.find((held) => held.pid === pid);
  if (holding === undefined) throw new Error('it holds nothing');
  writeHolding(simulation, { ...holding, devices: { CUDA0: 11 * GIB } });

  const said = /has grown to 11\.0 GiB on CUDA0, from 8\.0 GiB on CUDA0 \d+s ago/u;
  await until('it is said', () => said.test(served.output()));
  const { models, decisions } = await served.snapshot();
  expect(models[0]).toMatchObject({ claim: { CUDA0: 11 * GIB }, resident: { CUDA0: 11 * GIB } });
  expect(decisions.filter(({ sentence }) => sentence.includes('has grown'))).toHaveLength(1);
  const { stdout } = await runProgram(['ps', '--state-dir', served.stateDirectory], served.directory);
  expect(stdout).toMatch(/leaky .*11\.0/u);

  await served.post('/supervisor/unload', { model: 'leaky' });
  await served.until('its memory is back', ({ devices: [card] }) => card?.freeBytes === 24 * GIB);
  const planned = await (await fetch(`${served.url}/supervisor/plan?model=leaky`)).json();
  expect(JSON.stringify(planned)).toContain(String(11 * GIB));
});
