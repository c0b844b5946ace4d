import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { oddModels, servingOdd } from '../support/odd-models.js';
import { descendants, serve, serveIn, temporaryDirectory, type Served } from '../support/serving.js';
import { tinyGguf } from '../support/tiny-gguf.js';
import { until } from '../support/until.js';

const MIB = 2 ** 20;
/** On SIGUSR2, and says so. */
const COLLECTS_GARBAGE = resolve(import.meta.dirname, '../support/collect-garbage.mjs');
const QUICK_CHILD = resolve(import.meta.dirname, '../support/quick-child.sh');

function residentBytes({ process: { pid = 0 } }: Served): number {
  return Number(/VmRSS:\s+(\d+)/u.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}

describe.runIf(process.platform === 'linux')('serve', () => {
  it('answers at once and stays small while a child prints garbage as fast as it can', async () => {
    await using served = await serve(...servingOdd(oddModels('pours', 'even')));
    expect((await served.post('/v1/completions', { model: 'pours', prompt: 'x' })).status).toBe(200);
    const times: number[] = [];
    let largest = 0;
    for (const end = performance.now() + 5000; performance.now() < end;) {
      const asked = performance.now();
      await (await fetch(`${served.url}/health`)).text();
      times.push(performance.now() - asked);
      largest = Math.max(largest, residentBytes(served));
    }
    times.sort((a, b) => a - b);
    expect(
      times[Math.floor(times.length * 0.99)],
      'milliseconds, of which 50 are allowed on a machine at rest',
    ).toBeLessThan(250);
    expect(largest / MIB).toBeLessThan(200);
    const snapshot = await served.snapshot();
    expect(snapshot.models.map(({ word }) => word).sort(), 'none of it was believed').toEqual(['ready', 'unloaded']);
    expect(JSON.stringify(snapshot).length).toBeLessThan(50_000);
    expect((await served.post('/v1/completions', { model: 'even', prompt: 'x' })).status).toBe(200);
  });

  it('has no more processes, descriptors and memory after 300 loads than after 100', { timeout: 120_000 }, async () => {
    const directory = temporaryDirectory();
    for (const name of ['one', 'two']) writeFileSync(join(directory, `${name}.gguf`), tinyGguf());
    const args = ['--llama-server', QUICK_CHILD, '--models-dir', directory, '--no-journal'];
    const environment = { NODE_OPTIONS: `--expose-gc --import ${COLLECTS_GARBAGE}` };
    await using served = await serveIn(temporaryDirectory(), args, environment);
    const pid = served.process.pid ?? 0;
    const cycle = async (model: string): Promise<void> => {
      await served.post('/models/load', { model });
      await served.until('it is up', ({ models }) => models.some(({ id, word }) => id === model && word === 'ready'));
      await served.post('/models/unload', { model });
      await served.until('it is gone', ({ models }) => models.every(({ generation }) => generation === null));
    };
    const figures = async () => {
      await served.until('all memory is back', ({ devices }) => devices.every((device) => device.releasingBytes === 0));
      const said = served.output().length;
      served.process.kill('SIGUSR2');
      const inUse = await until(
        'garbage is collected',
        () => /bytes in use: (\d+)/u.exec(served.output().slice(said))?.[1],
      );
      return {
        bytes: residentBytes(served),
        bytesInUse: Number(inUse),
        descriptors: readdirSync(`/proc/${pid}/fd`).length,
        children: descendants(pid),
      };
    };
    for (let i = 0; i < 100; i += 1) await cycle(i % 2 === 0 ? 'one' : 'two');
    const before = await figures();
    for (let i = 0; i < 200; i += 1) await cycle(i % 2 === 0 ? 'one' : 'two');
    const after = await figures();
    expect(after.children).toEqual([]);
    expect(readdirSync(join(served.stateDirectory, 'instances'))).toEqual([]);
    expect(after.descriptors - before.descriptors).toBeLessThanOrEqual(0);
    expect((after.bytesInUse - before.bytesInUse) / MIB).toBeLessThan(2);
    // How much of the system's memory that takes is up to the runtime, and still settles.
    expect((after.bytes - before.bytes) / MIB).toBeLessThan(20);
  });
});
