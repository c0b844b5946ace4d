/**
 * From the moment in which a child says that it is ready to the first byte that a waiting client gets: what of it is the
 * supervisor's, beside what a router would take that asks /health once a second. `npm run bench:ready [-- loads]`; needs
 * `npm run build`. The child answers at once and says when it wrote what; all times are of one clock.
 */
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { serve, temporaryDirectory, type Served } from '../test/support/serving.js';
import { tinyGguf } from '../test/support/tiny-gguf.js';

const CHILD = resolve(import.meta.dirname, 'timed-child.js');
/** How often routers ask that wait for an answer on /health. */
const POLL_MILLIS = 1000;

/** Milliseconds of the machine's clock, with fractions. */
const now = (): number => performance.timeOrigin + performance.now();

/** What the child says of one answer. */
interface Answer {
  readonly startedAt: number;
  readonly readyAt: number;
  readonly askedAt: number;
  readonly answeredAt: number;
}

interface Load {
  /** From the child's `ready` to the client's first byte, less the time that the child took to answer. */
  readonly oursMillis: number;
  /** The same up to the moment in which the child got the request. */
  readonly thereMillis: number;
  /** How long it would have been before a poll had even noticed. */
  readonly pollMillis: number;
}

async function load(served: Served, model: string): Promise<Load> {
  const sent = now();
  const reply = await served.post('/v1/completions', { model, prompt: 'x' });
  const reader = (reply.body as ReadableStream<Uint8Array>).getReader();
  const first = await reader.read();
  const gotAt = now();
  const answer = JSON.parse(new TextDecoder().decode(first.value)) as Answer;
  await reader.read();
  const { startedAt, readyAt, askedAt, answeredAt } = answer;
  if (readyAt < sent) throw new Error('the model was up before it was asked for');
  const polls = Math.ceil((readyAt - startedAt) / POLL_MILLIS) * POLL_MILLIS;
  return {
    oursMillis: gotAt - readyAt - (answeredAt - askedAt),
    thereMillis: askedAt - readyAt,
    pollMillis: startedAt + polls - readyAt,
  };
}

function row(what: string, values: readonly number[]): string {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number): string => (sorted[Math.floor(sorted.length * share)] ?? NaN).toFixed(1).padStart(8);
  return `${what.padEnd(52)} p50 ${at(0.5)} ms   p99 ${at(0.99)} ms`;
}

const loads = Number(process.argv[2] ?? 100);
const directory = temporaryDirectory();
for (const name of ['one', 'two']) writeFileSync(join(directory, `${name}.gguf`), tinyGguf());
const served = await serve('--llama-server', CHILD, '--models-dir', directory, '--models-max', '1');
try {
  const all: Load[] = [];
  // The first ones warm the program up.
  for (let i = -5; i < loads; i += 1) {
    const one = await load(served, i % 2 === 0 ? 'one' : 'two');
    if (i >= 0) all.push(one);
  }
  const ours = all.map(({ oursMillis }) => oursMillis);
  const polled = all.map(({ oursMillis, pollMillis }) => oursMillis + pollMillis);
  console.log(`${loads} loads, each for a request that waits for it`);
  console.log(
    row(
      'ready said -> request at the child',
      all.map(({ thereMillis }) => thereMillis),
    ),
  );
  console.log(row('ready said -> first byte at the client', ours));
  console.log(row('the same with a look at /health once a second', polled));
} finally {
  await served[Symbol.asyncDispose]();
}
