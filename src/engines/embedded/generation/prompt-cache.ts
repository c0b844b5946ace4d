import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import type { Token } from 'node-llama-cpp';
import type { Generator } from './generator.js';
import type { Slot } from './sequence-pool.js';

/**
 * Makes the sequence hold exactly the prompt but for its last token, which is evaluated when the first token is
 * sampled. Returns how many tokens were there already. Looks at the signal between batches, and throws its reason.
 */
export async function prefill(
  generator: Generator,
  { sequence, task }: Slot,
  prompt: readonly Token[],
  reuse: boolean,
  signal: AbortSignal,
): Promise<number> {
  const { turnstile, counters, batchTokens } = generator;
  const wanted = prompt.slice(0, -1);
  await turnstile.exclusively(async () => {
    if (reuse) await sequence.adaptStateToTokens(wanted, false);
    else await sequence.clearHistory();
  });
  const cachedTokens = sequence.nextTokenIndex;
  if (task !== null) task.cachedTokens = cachedTokens;
  let rest = wanted.slice(cachedTokens);
  while (rest.length > 0) {
    await turnstile.pass();
    signal.throwIfAborted();
    const batch = rest.slice(0, batchTokens);
    const startedAt = performance.now();
    await sequence.evaluateWithoutGeneratingNewTokens(batch);
    counters.promptMillis += performance.now() - startedAt;
    counters.promptTokens += batch.length;
    if (task !== null) task.evaluatedTokens += batch.length;
    rest = rest.slice(batchTokens);
  }
  signal.throwIfAborted();
  return cachedTokens;
}

/**
 * Gives the other sequences what the first one holds. The library can copy a sequence by way of a file only, which is
 * in a directory of this user's alone and gone before any text is generated. Rejects with the file system's error.
 */
export async function copySequence({ turnstile }: Generator, from: Slot, to: readonly Slot[]): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'llm-tui-sequence-'));
  const file = join(directory, 'state');
  try {
    await turnstile.exclusively(async () => {
      await from.sequence.saveStateToFile(file);
      for (const { sequence, task } of to) {
        // The risk is that of a file from another model; this one was written a moment ago.
        await sequence.loadStateFromFile(file, { acceptRisk: true });
        if (task !== null) task.cachedTokens = sequence.nextTokenIndex;
      }
    });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
