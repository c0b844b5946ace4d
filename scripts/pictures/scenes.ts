import { setTimeout as delay } from 'node:timers/promises';
import type { Snapshot } from '../../src/client/types.js';
import { writeExternal } from '../../src/devices/sim-ledger.js';
import { GIB } from '../../src/scheduler/units.js';
import { pathsFor } from '../../src/supervisor/paths.js';
import { simulated } from '../../test/support/preset.js';
import { LAUNCHER, serve, testEnvironment, type Served } from '../../test/support/serving.js';
import { startTerminal, type TestTerminal } from '../../test/support/terminal.js';

/** Models as people have them, on one card each; what they answer never comes to an end while somebody looks. */
const MODELS = {
  'qwen3-32b-q4_k_m': { 'sim-size': '18.4GiB', device: 'CUDA0', 'ctx-size': 32_768, pin: 'true' },
  'gemma-27b-it-q4': { 'sim-size': '15.8GiB', device: 'CUDA1', 'ctx-size': 8_192 },
  'llama4-scout-q3': { 'sim-size': '12.6GiB', device: 'CUDA1', 'ctx-size': 8_192, 'sim-load-seconds': 12 },
  'phi-4-mini': { 'sim-size': '2.9GiB', device: 'CUDA1', 'ctx-size': 16_384 },
  'nomic-embed': { 'sim-size': '0.6GiB', device: 'CUDA0', 'ctx-size': 2_048 },
} as const;

/** The simulated machine of the pictures, with a screen. */
export interface Scenes extends AsyncDisposable {
  readonly served: Served;
  attach(columns: number, rows: number): TestTerminal;
  /** Two models at work, one idle, others on disk. */
  normal(): Promise<void>;
  /** One that has to leave for another, which is loading. */
  eviction(): Promise<void>;
  /** Another program takes the room that it was loading into. */
  outOfMemory(): Promise<void>;
}

export async function startScenes(): Promise<Scenes> {
  const common = { 'sim-load-seconds': 2, 'sim-tokens-per-second': 0.01, 'sim-measure-seconds': 0 };
  const sections = Object.entries(MODELS).map(([name, keys]) => [name, { ...common, ...keys }] as const);
  const served = await serve(...simulated('CUDA0=24GiB,CUDA1=24GiB', Object.fromEntries(sections)));
  const { simulation } = pathsFor(served.stateDirectory, testEnvironment(served.directory));
  const gone = new AbortController();
  const external = (cuda0: number, cuda1: number): void =>
    writeExternal(simulation, { CUDA0: Math.round(cuda0 * GIB), CUDA1: Math.round(cuda1 * GIB) });
  const ask = (model: string): void => {
    const body = { model, max_tokens: 9, messages: [{ role: 'user', content: 'Hello' }] };
    served.post('/v1/chat/completions', body, gone.signal).catch(() => undefined);
  };
  const act = async (action: string, model: string): Promise<void> => {
    await served.post(`/supervisor/${action}`, { model });
  };
  const word = (model: string, wanted: string) => (snapshot: Snapshot) =>
    snapshot.models.find(({ id }) => id === model)?.word === wanted;

  return {
    served,
    attach: (columns, rows) =>
      startTerminal({
        file: process.execPath,
        args: [LAUNCHER, 'attach', '--state-dir', served.stateDirectory, '--theme', 'dark', '--glyphs', 'unicode'],
        env: {
          ...Object.fromEntries(
            Object.entries(testEnvironment(served.directory)).map(([name, value]) => [name, value ?? '']),
          ),
          FORCE_COLOR: '1',
        },
        ...{ columns, rows },
      }),
    async normal() {
      external(2, 0.4);
      await served.until('all is measured', ({ measureQueue }) => measureQueue.length === 0);
      await served.until('the pinned one is up', word('qwen3-32b-q4_k_m', 'ready'));
      await act('load', 'gemma-27b-it-q4');
      await served.until('the large one is up', word('gemma-27b-it-q4', 'ready'));
      await act('load', 'phi-4-mini');
      await served.until('the small one is up', word('phi-4-mini', 'ready'));
      ask('qwen3-32b-q4_k_m');
      ask('qwen3-32b-q4_k_m');
      ask('phi-4-mini');
      await served.until(
        'they are at work',
        ({ models }) => models.reduce((sum, { requests }) => sum + requests, 0) === 3,
      );
      // Long enough for what is idle to be told in tens of seconds.
      await delay(11_000);
    },
    async eviction() {
      ask('llama4-scout-q3');
      await served.until(
        'it is loading',
        ({ models }) => (models.find(({ id }) => id === 'llama4-scout-q3')?.progress ?? 0) >= 0.4,
      );
    },
    async outOfMemory() {
      external(2, 9);
      await served.until('memory has run out', ({ outOfMemory }) => (outOfMemory ?? []).length > 0);
      await delay(2_000);
    },
    async [Symbol.asyncDispose]() {
      gone.abort();
      await served[Symbol.asyncDispose]();
    },
  };
}
