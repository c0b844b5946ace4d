import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sumPerDevice } from '../../../src/engines/memory-table.js';
import type { ChildMemory } from '../../../src/engines/messages.js';
import { runMeasurement } from '../../support/run-measurement.js';
import { tempTree } from '../../support/temp-tree.js';
import { engine, entryFor, isReady, residentBytes, sampleModels, startChild } from './embedded-child.js';

const onHost = (memory: ChildMemory | undefined): { model: number; context: number } | undefined =>
  memory?.devices.find(({ kind }) => kind === 'host');

describe('a measuring child of the embedded engine', () => {
  it('says beforehand what a child then takes', async () => {
    const [model] = await sampleModels();
    if (model === undefined) throw new Error('there are sample models');
    const entry = entryFor(model, { 'ctx-size': '512', parallel: '2' });
    const found = await runMeasurement(engine.measure?.({ entry, port: 1, devices: null }));
    await using child = await startChild(entry);
    const ready = await child.until(({ type }) => type === 'ready');
    const measured = found.result === 'measured' ? found : null;
    const loaded = ready.type === 'ready' ? ready.memory : undefined;
    expect(measured?.min.n_ctx).toBe(256);
    expect(measured?.max).toEqual(measured?.min);
    expect(onHost(measured?.min)?.model).toBe(onHost(loaded)?.model);
    expect(onHost(measured?.min)?.context).toBe(onHost(loaded)?.context);
  });

  it.skipIf(process.platform !== 'linux')('comes close to what the system then counts', async () => {
    const [, , large = ''] = await sampleModels();
    const entry = entryFor(large, { 'ctx-size': '2048', 'no-mmap': true });
    const found = await runMeasurement(engine.measure?.({ entry, port: 1, devices: null }));
    if (found.result !== 'measured') throw new Error(found.error);
    const measured = sumPerDevice(found.min)['Host'] ?? 0;
    await using child = await startChild(entry);
    await child.until(isReady);
    await child.ask('/v1/completions', { prompt: 'the sea '.repeat(400), max_tokens: 8 });
    const seen = residentBytes(child.pid);
    expect(seen / measured).toBeGreaterThan(0.9);
    expect(seen / measured).toBeLessThan(1.15);
  });

  it.each([
    ['is not there', {}, 'does not exist; check the path.'],
    ['is no model', { 'm.gguf': 'nothing of the kind' }, 'is not a GGUF file.'],
  ])('says what is wrong with a file that %s', async (_title, tree, words) => {
    const entry = entryFor(join(tempTree(tree), 'm.gguf'));
    const found = await runMeasurement(engine.measure?.({ entry, port: 1, devices: null }));
    expect(found).toMatchObject({ result: 'failed', error: expect.stringContaining(words) as string });
  });
});
