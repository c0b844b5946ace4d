import { describe, expect, it } from 'vitest';
import type { ChildMemory } from '../../src/engines/messages.js';
import type { MemoryTables } from '../../src/measurements/store.js';
import type { DeviceBytes } from '../../src/scheduler/units.js';
import { GIB } from '../../src/scheduler/units.js';
import { ContextLearning } from '../../src/supervisor/context-learning.js';
import { spec, Stage } from '../support/stage.js';

interface Look {
  readonly device: string;
  readonly resident: number;
  readonly table: number;
  readonly exact: boolean;
}

const table = (gib: DeviceBytes, n_ctx = 4096): ChildMemory => ({
  n_ctx,
  devices: Object.entries(gib).map(([name, amount]) => {
    return { kind: 'device', name, model: amount * GIB, context: 0, compute: 0 };
  }),
});

/** One model that holds so much on the devices, and what is learnt of it (GiB). */
function looksAt(
  claim: DeviceBytes,
  known: { readonly said?: ChildMemory; readonly tables?: MemoryTables },
): { readonly stage: Stage; readonly look: () => readonly Look[] } {
  const stage = new Stage().devices({ CUDA0: 24, CUDA1: 24, Host: 64 }).catalog(spec('a', claim));
  const looks: Look[] = [];
  const learning = new ContextLearning({
    contexts: {
      learn: (device, resident, of, exact) => {
        looks.push({ device, resident: resident / GIB, table: of / GIB, exact });
        return true;
      },
    },
    memoryOf: () => known.said ?? null,
    tablesOf: () => known.tables ?? null,
  });
  const look = (): readonly Look[] => {
    looks.length = 0;
    learning.look(stage.state);
    return [...looks];
  };
  return { stage, look };
}

describe('what the driver takes is learnt from an instance', () => {
  const tables = { min: table({ CUDA0: 4 }), max: table({ CUDA0: 6 }, 8192) };
  const said = table({ CUDA0: 3 });

  it('once, by the first sample after it has become ready', () => {
    const { stage, look } = looksAt({ CUDA0: 5 }, { said });
    stage.request('a');
    stage.sample();
    expect(look()).toEqual([]);
    stage.ready('a');
    expect(look()).toEqual([]);
    stage.sample();
    expect(look()).toEqual([{ device: 'CUDA0', resident: 5, table: 3, exact: true }]);
    stage.sample();
    expect(look()).toEqual([]);
  });

  it('by what was measured at the context that it has, where it does not say what it holds', () => {
    const { stage, look } = looksAt({ CUDA0: 5 }, { tables });
    stage.request('a');
    stage.ready('a').sample();
    expect(look()).toEqual([{ device: 'CUDA0', resident: 5, table: 4, exact: true }]);
  });

  it('also on a device that holds nothing of the model', () => {
    const { stage, look } = looksAt({ CUDA0: 5, CUDA1: 1 }, { said });
    stage.request('a');
    stage.ready('a').sample();
    expect(look()).toContainEqual({ device: 'CUDA1', resident: 1, table: 0, exact: true });
  });

  it('less surely, when it was measured on other devices', () => {
    const elsewhere = { min: table({ CUDA0: 2, CUDA1: 2 }), max: table({ CUDA0: 2, CUDA1: 2 }) };
    const { stage, look } = looksAt({ CUDA1: 5 }, { tables: elsewhere });
    stage.request('a');
    stage.ready('a').sample();
    expect(look()).toEqual([{ device: 'CUDA1', resident: 5, table: 4, exact: false }]);
  });

  it('not when it was measured at another context, or not at all', () => {
    const other = { min: table({ CUDA0: 4 }, 512), max: table({ CUDA0: 6 }, 8192) };
    for (const known of [{ tables: other }, {}]) {
      const { stage, look } = looksAt({ CUDA0: 5 }, known);
      stage.request('a');
      stage.ready('a').sample();
      expect(look()).toEqual([]);
    }
  });

  it('not from system memory, of which every process takes something else', () => {
    const { stage, look } = looksAt({ Host: 5 }, { said });
    stage.request('a');
    stage.ready('a').sample();
    expect(look()).toEqual([]);
  });
});
