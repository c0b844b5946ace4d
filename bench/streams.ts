import { spawn } from '@lydell/node-pty';
import { resolve } from 'node:path';
import { quantile, streamDelays } from './load.js';
import type { Served } from './proxies.js';

const LAUNCHER = resolve(import.meta.dirname, '../bin/llm-tui.js');
const STREAMS = 32;
const SHARES = [0.5, 0.9, 0.99, 0.999];

/** Goals for what the 99th percentile of a chunk may gain on its way through us. */
const GOALS_MILLIS = { 'at rest': 1, 'with a screen': 5 } as const;

/**
 * How long a chunk takes from the child's write to the client, in 32 streams of 50 a second, and how much of that is
 * ours. The child writes the time into the chunk; `process.hrtime` is the same clock in all processes. Whoever else uses
 * the machine delays the direct ones as well, so direct and ours take turns, and the differences of the quantiles count.
 */
export async function compareStreams(
  direct: Served,
  others: readonly Served[],
  us: Served,
  body: Buffer,
  rounds: number,
): Promise<void> {
  console.log(`\n${STREAMS} streams of 50 chunks a second: from the child's write to the client, in ms`);
  await turns('at rest', direct, [...others, us], us, body, rounds);
  const screen = spawn(process.execPath, [LAUNCHER, 'attach', `http://127.0.0.1:${us.port}`], {
    ...{ cols: 120, rows: 40, name: 'xterm-256color' },
  });
  let drawn = 0;
  screen.onData((text) => (drawn += text.length));
  try {
    await turns('with a screen', direct, [us], us, body, rounds);
    console.log(`  the screen drew ${drawn} characters meanwhile`);
    if (drawn === 0) throw new Error('no screen was attached');
  } finally {
    screen.kill();
  }
}

async function turns(
  when: keyof typeof GOALS_MILLIS,
  direct: Served,
  others: readonly Served[],
  us: Served,
  body: Buffer,
  rounds: number,
): Promise<void> {
  const delays = new Map<Served, number[]>([direct, ...others].map((served) => [served, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const [served, all] of delays) {
      all.push(...(await streamDelays(served.port, '/v1/chat/completions', body, STREAMS)));
    }
  }
  for (const all of delays.values()) all.sort((a, b) => a - b);
  const base = delays.get(direct) ?? [];
  for (const [{ name }, all] of delays) {
    const at = SHARES.map((share) => `p${share * 100} ${quantile(all, share).toFixed(2)}`.padEnd(12));
    const added = SHARES.map((share) => signed(quantile(all, share) - quantile(base, share)));
    const more = all === base ? '' : `added: ${added.join('  ')}`;
    console.log(
      `  ${when.padEnd(14)} ${name.padEnd(8)} ${at.join(' ')} ${String(all.length).padStart(6)} chunks  ${more}`,
    );
  }
  const added = quantile(delays.get(us) ?? [], 0.99) - quantile(base, 0.99);
  const goal = GOALS_MILLIS[when];
  console.log(`  ${when}: p99 ${signed(added)} ms, the goal is ${goal}: ${added < goal ? 'met' : 'MISSED'}`);
}

function signed(millis: number): string {
  return `${millis < 0 ? '−' : '+'}${Math.abs(millis).toFixed(2)}`;
}
