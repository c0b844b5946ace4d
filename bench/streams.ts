import { spawn } from '@lydell/node-pty';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { quantile, streamDelays } from './load.js';
import type { Served } from './proxies.js';

const LAUNCHER = resolve(import.meta.dirname, '../bin/llm-tui.js');
const STREAMS = 32;
const SHARES = [0.5, 0.9, 0.99, 0.999];
/** Place of the 99th percentile in SHARES. */
const P99 = 2;

/** Goals for what the 99th percentile of a chunk may gain on its way through us. */
const GOALS_MILLIS = { 'at rest': 1, 'with a screen': 5 } as const;

/** One round of streams: quantiles of the delays, at SHARES, in milliseconds. */
interface Round {
  readonly direct: readonly number[];
  readonly through: readonly number[];
}

/**
 * How long a chunk takes from the child's write to the client, in 32 streams of 50 a second, and how much of that is
 * ours. The child writes the time into the chunk; `process.hrtime` is the same clock in all processes. Whoever else uses
 * the machine delays the direct ones as well, so both kinds of streams run at the same time, and the median round counts. What is
 * left of it is told by how long we had to wait for a processor.
 */
export async function compareStreams(
  direct: Served,
  others: readonly Served[],
  us: Served,
  body: Buffer,
  rounds: number,
): Promise<void> {
  console.log(
    `\n${STREAMS} streams of 50 chunks a second, direct and through, at the same time; ms from the child's write`,
  );
  for (const served of [...others, us]) await compare('at rest', direct, served, us, body, rounds);
  const screen = spawn(process.execPath, [LAUNCHER, 'attach', `http://127.0.0.1:${us.port}`], {
    ...{ cols: 120, rows: 40, name: 'xterm-256color' },
  });
  let drawn = 0;
  screen.onData((text) => (drawn += text.length));
  try {
    await compare('with a screen', direct, us, us, body, rounds);
    console.log(`  the screen drew ${drawn} characters meanwhile`);
    if (drawn === 0) throw new Error('no screen was attached');
  } finally {
    screen.kill();
  }
}

async function compare(
  when: keyof typeof GOALS_MILLIS,
  direct: Served,
  served: Served,
  us: Served,
  body: Buffer,
  rounds: number,
): Promise<void> {
  const delaysOf = ({ port }: Served): Promise<number[]> => streamDelays(port, '/v1/chat/completions', body, STREAMS);
  const all: Round[] = [];
  const before = schedulingOf(served.pid);
  for (let round = 0; round < rounds; round += 1) {
    const [alone, through] = await Promise.all([delaysOf(direct), delaysOf(served)]);
    const at = (delays: readonly number[]): readonly number[] => SHARES.map((share) => quantile(delays, share));
    all.push({ direct: at(alone), through: at(through) });
  }
  const medianAt = (figureOf: (round: Round) => readonly number[]): readonly number[] =>
    SHARES.map((_, place) => median(all.map((round) => figureOf(round)[place] ?? NaN)));
  const added = medianAt((round) => round.through.map((figure, place) => figure - (round.direct[place] ?? NaN)));
  const row = (name: string, figures: readonly number[], show: (millis: number) => string): void =>
    console.log(
      `  ${when.padEnd(14)} ${name.padEnd(12)} ${SHARES.map((share, place) => `p${share * 100} ${show(figures[place] ?? NaN)}`.padEnd(14)).join('')}`,
    );
  row(
    'direct',
    medianAt(({ direct: figures }) => figures),
    plain,
  );
  row(
    served.name,
    medianAt(({ through }) => through),
    plain,
  );
  row(`+ ${served.name}`, added, signed);
  const after = schedulingOf(served.pid);
  const [ran, waited] = [after.ranMillis - before.ranMillis, after.waitedMillis - before.waitedMillis];
  const share = ((100 * waited) / (ran + waited)).toFixed(0);
  console.log(
    `  ${when.padEnd(14)} ${served.name} ran ${ran.toFixed(0)} ms, and waited ${waited.toFixed(0)} ms (${share} %) for a processor`,
  );
  if (served !== us) return;
  const p99 = added[P99] ?? NaN;
  const goal = GOALS_MILLIS[when];
  console.log(`  ${when}: p99 ${signed(p99)} ms, the goal is ${goal}: ${p99 < goal ? 'met' : 'MISSED'}`);
}

/** How long the main thread of a process has run, and how long it could have run but had no processor (Linux). */
function schedulingOf(pid: number): { readonly ranMillis: number; readonly waitedMillis: number } {
  try {
    const [ran, waited] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ').map(Number);
    return { ranMillis: (ran ?? 0) / 1e6, waitedMillis: (waited ?? 0) / 1e6 };
  } catch {
    return { ranMillis: NaN, waitedMillis: NaN };
  }
}

function median(figures: readonly number[]): number {
  return figures.toSorted((a, b) => a - b)[figures.length >> 1] ?? NaN;
}

function plain(millis: number): string {
  return millis.toFixed(2);
}

function signed(millis: number): string {
  return `${millis < 0 ? '−' : '+'}${Math.abs(millis).toFixed(2)}`;
}
