import { setTimeout as delay } from 'node:timers/promises';
import { Random } from '../../src/simulation/random.js';

export interface Load {
  readonly url: string;
  readonly models: readonly string[];
  readonly clients: number;
  readonly millis: number;
  readonly seed: number;
}

/** What clients got. */
export interface Served {
  readonly requests: number;
  /** What went wrong, in the server's words, once for each request that failed. */
  readonly failures: readonly string[];
  /** How long each successful answer took, shortest first. */
  readonly answeredMillis: readonly number[];
  readonly seconds: number;
}

/** A request that is not answered by then has failed. */
const LIMIT_MILLIS = 60_000;
const MOST_TOKENS = 12;
/** After an error a client waits as the usual ones do: a server that fails fast must not look like one that serves. */
const AFTER_FAILURE_MILLIS = 500;

/** Clients that ask for models in random order, each for its next one as soon as it has its answer. */
export async function runLoad({ url, models, clients, millis, seed }: Load): Promise<Served> {
  const began = performance.now();
  const failures: string[] = [];
  const answeredMillis: number[] = [];
  const client = async (number: number): Promise<void> => {
    const random = new Random(seed * 1000 + number);
    while (performance.now() - began < millis) {
      const asked = performance.now();
      const failure = await ask(url, random.pick(models), {
        stream: random.chance(0.5),
        tokens: random.between(1, MOST_TOKENS),
      });
      if (failure === null) answeredMillis.push(performance.now() - asked);
      else {
        failures.push(failure);
        await delay(AFTER_FAILURE_MILLIS);
      }
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, number) => client(number)));
  return {
    requests: answeredMillis.length + failures.length,
    failures,
    answeredMillis: answeredMillis.sort((a, b) => a - b),
    seconds: (performance.now() - began) / 1000,
  };
}

/** One chat completion; null, or why it is no good answer. */
export async function ask(
  url: string,
  model: string,
  { stream = false, tokens = 4 }: { readonly stream?: boolean; readonly tokens?: number } = {},
): Promise<string | null> {
  try {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model, stream, max_tokens: tokens, messages: [{ role: 'user', content: 'hello' }] }),
      signal: AbortSignal.timeout(LIMIT_MILLIS),
    });
    const text = await response.text();
    if (response.status !== 200) return `${model}: ${response.status} ${text.slice(0, 200)}`;
    if (!stream) return text.includes('"choices"') ? null : `${model}: no choices in ${text.slice(0, 200)}`;
    if (text.includes('"error"')) return `${model}: an error in the stream: ${text.slice(-200)}`;
    return text.trimEnd().endsWith('data: [DONE]') ? null : `${model}: the stream was cut off: ${text.slice(-200)}`;
  } catch (error) {
    return `${model}: ${error instanceof Error ? error.message : String(error)}`;
  }
}
