import { formatProtocolLine } from '../protocol.js';
import type { ChildArguments } from './arguments.js';
import { createCounters } from './generation/counters.js';
import { selectDevices } from './devices.js';
import { startRuntime, type Runtime } from './model/library.js';
import { loadModel, unloadModel, type LoadedModel } from './model/load-model.js';
import { checkModelFile } from './model/model-file.js';
import { readModelFacts } from './model/model-facts.js';
import { createResidency } from './model/residency.js';
import { activate, type Service } from './service.js';

/** Smaller steps are not reported: nobody sees them. */
const PROGRESS_STEP = 0.01;

/** Where a service tells what it does. */
export interface ServiceOutput {
  /** One line for people. */
  readonly log: (line: string) => void;
  /** One line for the supervisor. */
  readonly say: (line: string) => void;
  /** A load begins (+1) or has ended (-1). */
  readonly onLoad: (change: 1 | -1) => void;
  /** A model that sleeps could not be brought back. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * Loads the model and says `ready`; from then on the model leaves memory when it has been idle for long enough
 * (`sleeping`), and comes back with the next task (`loading`, `ready`).
 * Throws ChildFailure with one sentence; aborts with the signal's reason.
 */
export async function startService(
  args: ChildArguments,
  signal: AbortSignal,
  { log, say, onLoad, onFailure }: ServiceOutput,
): Promise<Service> {
  let runtime: Runtime | null = null;
  const load = async (): Promise<LoadedModel> => {
    onLoad(1);
    try {
      log(`loading ${args.modelPath}`);
      const report = reportProgress(say);
      report(0);
      await checkModelFile(args.modelPath);
      runtime ??= await startRuntime(selectDevices(args.devices).gpu, args.threads, log);
      const loaded = await loadModel(runtime, args, signal, report);
      signal.throwIfAborted();
      return loaded;
    } finally {
      onLoad(-1);
    }
  };

  const counters = createCounters();
  const loaded = await load();
  const first = activate(args, loaded, counters, log);
  const facts = readModelFacts(first);
  const { sequences } = loaded.plan;
  log(
    `context: ${loaded.contextTokens} tokens for a request, ${args.embeddings ? 'for embeddings' : `${sequences} at once`}`,
  );
  const residency = createResidency({
    first,
    idleMillis: args.sleepIdleMillis,
    load: async () => activate(args, await load(), counters, log),
    unload: (active) => unloadModel(active.loaded),
    onAsleep() {
      log('sleeping: the model has left memory');
      say(formatProtocolLine('sleeping'));
    },
    // Without figures, as llama-server: it holds what it held before.
    onAwake: () => say(formatProtocolLine('ready')),
    onFailure,
  });
  const { memory } = loaded;
  say(formatProtocolLine('ready', { id: args.alias, meta: facts.meta, ...(memory !== null && { memory }) }));
  return { args, facts, residency, counters, startedAt: Math.floor(Date.now() / 1000) };
}

function reportProgress(say: (line: string) => void): (fraction: number) => void {
  let reported = -1;
  return (fraction) => {
    if (fraction - reported < PROGRESS_STEP) return;
    reported = fraction;
    say(formatProtocolLine('loading', { value: Math.min(1, Number(fraction.toFixed(3))) }));
  };
}
