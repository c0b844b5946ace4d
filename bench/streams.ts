import { spawn } from '@lydell/node-pty';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { quantile, streamDelays } from './load.js';
import { watchOthers } from './others.js';
import type { Served } from './proxies.js';

const LAUNCHER = resolve(import.meta.dirname, '../bin/llm-tui.js');
const STREAMS = 32;
const SHARES = [0.5, 0.9, 0.99, 0.999];
/** Place of the 99th percentile in SHARES. */
const P99 = 2;

/** Goals for what the 99th percentile of a chunk may gain on its way through us. */
const GOALS_MILLIS = { 'at rest': 1, 'with a screen': 5 } as const;

/** A round in which others use more of the machine than this tells about them, not about us. */
const QUIET_SHARE = 0.1;
/** So many rounds are tried for one that counts. */
const TRIES = 4;

/** One round of streams: quantiles of the delays, at SHARES, in milliseconds. */
interface Round {
  readonly direct: readonly number[];
  readonly through: readonly number[];
  /** Which share of the processors others used meanwhile. */
  readonly others: number;
  /** How long the server's main thread ran, and how long it could have run but had no processor. */
  readonly ranMillis: number;
  readonly waitedMillis: number;
}

/**
 * How long a chunk takes from the child's write to the client, in 32 streams of 50 a second, and how much of that is
 * ours. The child writes the time into the chunk; `process.hrtime` is the same clock in all processes. Whoever else uses
 * the machine delays the direct ones as well, so both kinds of streams run at the same time, all servers take turns, and
 * the median of the rounds in which the machine was ours counts. What is left of it is told by how long we had to wait
 * for a processor.
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
  await compare('at rest', direct, [...others, us], us, body, rounds);
  const screen = spawn(process.execPath, [LAUNCHER, 'attach', `http://127.0.0.1:${us.port}`], {
    ...{ cols: 120, rows: 40, name: 'xterm-256color' },
  });
  let drawn = 0;
  screen.onData((text) => (drawn += text.length));
  try {
    await compare('with a screen', direct, [us], us, body, rounds);
    console.log(`  the screen drew ${drawn} characters meanwhile`);
    if (drawn === 0) throw new Error('no screen was attached');
  } finally {
    screen.kill();
  }
}

async function compare(
  when: keyof typeof GOALS_MILLIS,
  direct: Served,
  all: readonly Served[],
  us: Served,
  body: Buffer,
  rounds: number,
): Promise<void> {
  const seen = new Map<Served, Round[]>(all.map((served) => [served, []]));
  const quiet = (served: Served): Round[] => seen.get(served)?.filter(({ others }) => others < QUIET_SHARE) ?? [];
  // Code that runs for the first time is not yet compiled.
  for (const served of all) await measure(direct, served, body);
  for (let tried = 0; tried < rounds * TRIES && quiet(us).length < rounds; tried += 1) {
    for (const served of tried % 2 === 0 ? all : all.toReversed()) {
      seen.get(served)?.push(await measure(direct, served, body));
    }
  }
  const added = all.map((served) => ({ served, p99: report(when, served, seen.get(served) ?? [], quiet(served)) }));
  const ours = added.find(({ served }) => served === us)?.p99 ?? NaN;
  const beside = added.filter(({ served }) => served !== us).map(({ served, p99 }) => `${served.name} ${signed(p99)}`);
  const goal = GOALS_MILLIS[when];
  console.log(
    `  ${when}: p99 ${signed(ours)} ms${beside.length > 0 ? ` (${beside.join(', ')} in turn)` : ''}, the goal is ${goal}: ` +
      (ours < goal ? 'met' : 'MISSED'),
  );
}

async function measure(direct: Served, served: Served, body: Buffer): Promise<Round> {
  const delaysOf = async ({ port }: Served): Promise<readonly number[]> => {
    const delays = await streamDelays(port, '/v1/chat/completions', body, STREAMS);
    return SHARES.map((share) => quantile(delays, share));
  };
  const others = watchOthers();
  const before = schedulingOf(served.pid);
  const [alone, through] = await Promise.all([delaysOf(direct), delaysOf(served)]);
  const after = schedulingOf(served.pid);
  const ranMillis = after.ranMillis - before.ranMillis;
  const waitedMillis = after.waitedMillis - before.waitedMillis;
  return { direct: alone, through, others: others(), ranMillis, waitedMillis };
}

/** Prints what a server's rounds come to; returns what it adds to the 99th percentile. */
function report(when: string, { name }: Served, tried: readonly Round[], quiet: readonly Round[]): number {
  const rounds = quiet.length > 0 ? quiet : tried;
  const medianAt = (figureOf: (round: Round) => readonly number[]): readonly number[] =>
    SHARES.map((_, place) => median(rounds.map((round) => figureOf(round)[place] ?? NaN)));
  const added = medianAt((round) => round.through.map((figure, place) => figure - (round.direct[place] ?? NaN)));
  const row = (what: string, figures: readonly number[], show: (millis: number) => string): void => {
    const shown = SHARES.map((share, place) => `p${share * 100} ${show(figures[place] ?? NaN)}`.padEnd(14));
    console.log(`  ${when.padEnd(14)} ${what.padEnd(12)} ${shown.join('')}`);
  };
  const directly = medianAt(({ direct }) => direct);
  const through = medianAt((round) => round.through);
  row('direct', directly, plain);
  row(name, through, plain);
  row(`+ ${name}`, added, signed);
  const sum = (figureOf: (round: Round) => number): number =>
    rounds.reduce((total, round) => total + figureOf(round), 0);
  const [ran, waited] = [sum(({ ranMillis }) => ranMillis), sum(({ waitedMillis }) => waitedMillis)];
  const share = ((100 * waited) / (ran + waited)).toFixed(0);
  console.log(
    `  ${when.padEnd(14)} ${name} ran ${ran.toFixed(0)} ms, and waited ${waited.toFixed(0)} ms (${share} %) for a processor; ` +
      countedOf(tried.length, quiet.length),
  );
  return added[P99] ?? NaN;
}

function countedOf(tried: number, quiet: number): string {
  if (quiet === tried) return 'the machine was ours';
  if (quiet === 0) return 'somebody else used the machine in every round: this says little';
  return `${quiet} of ${tried} rounds count: in the others somebody else used the machine`;
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
