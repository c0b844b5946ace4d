import { readFileSync, readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { MIB, type Bytes } from '../../../src/scheduler/units.js';
import { descendants, serve } from '../../support/serving.js';
import { ask } from '../clients.js';
import { during } from '../during.js';
import { NO_COUNTS, type Part } from '../part.js';

const MODEL = 'sample-small';
/** What a supervisor takes once and keeps: compiled code, pools, the arenas of its threads. */
const WARM_UP_CYCLES = 10;
const GROWTH_LIMIT_BYTES: Bytes = 10 * MIB;
/** Sockets of clients and of the child that was there last may be open still. */
const DESCRIPTORS_LIMIT = 4;
/** A supervisor returns freed memory a while after an ending. */
const REST_MILLIS = 7000;

interface Footprint {
  readonly residentBytes: Bytes;
  readonly descriptors: number;
  readonly processes: number;
}

export const cycles: Part = {
  name: 'cycles',
  story: 'the engine in the box loads a model, answers and unloads it, over and over: nothing is left of it',
  weight: 1,
  run: async ({ millis }) => {
    // Without the emulated GPUs: their backend is made for llama-server.
    return during(await serve('--engine', 'embedded', '--sample-models'), async (served) => {
      const pid = served.process.pid ?? 0;
      const failures: string[] = [];
      const cycle = async (): Promise<void> => {
        const failure = await ask(served.url, MODEL, { tokens: 1 });
        if (failure !== null) failures.push(failure);
        await served.post('/supervisor/unload', { model: MODEL });
        await served.until('it has gone', ({ models }) =>
          models.some(({ id, word }) => id === MODEL && word === 'unloaded'),
        );
      };
      let count = 0;
      for (; count < WARM_UP_CYCLES; count += 1) await cycle();
      const before = await footprintAtRest(pid);
      for (const began = performance.now(); performance.now() - began < millis; count += 1) await cycle();
      const after = await footprintAtRest(pid);
      const grown = after.residentBytes - before.residentBytes;
      return {
        rows: [{ ...NO_COUNTS, name: 'cycles', requests: count, failed: failures.length }],
        faults: [
          ...failures,
          ...(grown > GROWTH_LIMIT_BYTES ? [`the supervisor grew by ${mib(grown)} in ${count} cycles`] : []),
          ...(after.descriptors > before.descriptors + DESCRIPTORS_LIMIT ? ['descriptors stay open'] : []),
          ...(after.processes > before.processes ? ['processes are left'] : []),
        ],
        remarks: [
          `${count} cycles; from the ${WARM_UP_CYCLES}th to the last: resident ${mib(before.residentBytes)}, ` +
            `then ${mib(after.residentBytes)}; descriptors ${before.descriptors}, then ${after.descriptors}; ` +
            `children ${before.processes}, then ${after.processes}`,
        ],
      };
    });
  },
};

async function footprintAtRest(pid: number): Promise<Footprint> {
  await delay(REST_MILLIS);
  const resident = /VmRSS:\s+(\d+) kB/u.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return {
    residentBytes: Number(resident) * 1024,
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    processes: descendants(pid).length,
  };
}

function mib(bytes: Bytes): string {
  return `${(bytes / MIB).toFixed(1)} MiB`;
}
