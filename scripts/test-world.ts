/**
 * Plays many random worlds around the scheduler and checks each after every event:
 * `npm run test:world -- --runs 20000 [--seed 1] [--policy lru]`. Exit code 1 with the seed and the shortest trace found.
 */
import { parseArgs } from 'node:util';
import type { Event } from '../src/scheduler/events.js';
import { POLICIES } from '../src/scheduler/policies.js';
import type { PolicyName } from '../src/scheduler/state.js';
import type { WorldConfig } from '../src/simulation/config.js';
import { drawWorld } from '../test/support/world-draw.js';
import { runWorld, type WorldRun } from '../test/support/world-run.js';
import { describeTrace, shrinkTrace } from '../test/support/world-shrink.js';

const SHRINK_MILLIS = 10_000;

class Totals {
  readonly #counts = new Map<string, Map<string, number>>();

  add(what: string, kind: string, count = 1): void {
    const kinds = this.#counts.get(what) ?? new Map<string, number>();
    this.#counts.set(what, kinds);
    kinds.set(kind, (kinds.get(kind) ?? 0) + count);
  }

  get(what: string): readonly (readonly [string, number])[] {
    return [...(this.#counts.get(what) ?? [])].sort(([, a], [, b]) => b - a);
  }

  sum(what: string): number {
    return this.get(what).reduce((sum, [, count]) => sum + count, 0);
  }
}

function main(): void {
  const { values } = parseArgs({
    options: {
      runs: { type: 'string', default: '1000' },
      seed: { type: 'string', default: '1' },
      policy: { type: 'string' },
    },
  });
  const runs = wholeNumber('--runs', values.runs);
  const first = wholeNumber('--seed', values.seed);
  const policies = Object.keys(POLICIES) as PolicyName[];
  const only = policies.find((policy) => policy === values.policy);
  if (values.policy !== undefined && only === undefined) fail(`--policy: one of ${policies.join(', ')}`);

  const totals = new Totals();
  const began = performance.now();
  for (let seed = first; seed < first + runs; seed += 1) {
    const policy = only ?? policies[seed % policies.length];
    const config = drawWorld(seed, policy);
    const run = runWorld(config);
    count(totals, config, run);
    if (run.broken !== null) {
      console.log(`seed ${seed} (--policy ${policy}): ${run.broken.message}`);
      console.log(`again: npm run test:world -- --runs 1 --seed ${seed} --policy ${policy}\n`);
      const trace = shrinkTrace(config.settings, run.events, run.broken, SHRINK_MILLIS);
      console.log(
        trace === null ? 'replaying its events alone does not show it' : describeTrace(config.settings, trace),
      );
      process.exit(1);
    }
  }
  report(totals, runs, performance.now() - began);
}

function count(totals: Totals, config: WorldConfig, run: WorldRun): void {
  totals.add('policies', config.settings.policy);
  totals.add('admission', config.settings.admission);
  totals.add('ended', run.ended);
  let latest: Event | null = null;
  let together = 1;
  for (const event of run.events) {
    totals.add('events', event.type);
    together = event.at === latest?.at ? together + 1 : 1;
    if (together === 2 && config.permutes) totals.add('interleavings', 'instants');
    latest = event;
  }
  for (const [kind, times] of Object.entries(run.faults)) totals.add('faults', kind, times);
  for (const [kind, times] of Object.entries(run.decisions)) totals.add('decisions', kind, times);
  for (const [kind, times] of Object.entries(run.outcomes)) totals.add('requests', kind, times);
}

function report(totals: Totals, runs: number, millis: number): void {
  const events = totals.sum('events');
  const line = (what: string): string =>
    totals
      .get(what)
      .map(([kind, times]) => `${kind} ${times}`)
      .join(', ');
  console.log(`${runs} worlds, ${events} events, each checked; no invariant was broken`);
  console.log(`policies:      ${line('policies')}`);
  console.log(`admission:     ${line('admission')}`);
  console.log(`ended:         ${line('ended')}`);
  console.log(`events:        ${line('events')}`);
  console.log(`decisions:     ${line('decisions')}`);
  console.log(`requests:      ${line('requests')}`);
  console.log(`faults:        ${totals.sum('faults')}: ${line('faults')}`);
  console.log(
    `interleavings: ${totals.sum('interleavings')} instants with several events, in an order drawn by the seed`,
  );
  const perSecond = Math.round(events / (millis / 1000));
  console.log(
    `took ${(millis / 1000).toFixed(1)} s: ${Math.round(runs / (millis / 1000))} worlds/s, ${perSecond} events/s`,
  );
}

function wholeNumber(flag: string, text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 0) fail(`${flag}: '${text}' is no whole number`);
  return number;
}

function fail(message: string): never {
  console.error(message);
  process.exit(2);
}

main();
