import { compareAtRest } from './agreement.js';
import { runLoad, type Load, type Served } from './clients.js';
import { faultsOfEvictions } from './evictions.js';
import { MODELS } from './models.js';
import type { Context, PartResult } from './part.js';
import type { Supervised } from './supervised.js';
import { sayWhereTimeGoes } from './time-spent.js';

const CLIENTS = 4;
const FAILURES_SHOWN = 3;

export function loadOf({ seed, millis }: Context): Omit<Load, 'url'> {
  return { models: Object.keys(MODELS), clients: CLIENTS, seed, millis };
}

/**
 * Four clients ask our supervisor for all models in random order. Nothing may fail, run out of memory, leave without
 * need, or be counted wrongly at the end.
 * @param options `mayRunOut`: how often memory may run out, where the part itself sees to it that it does; `fitsItself`:
 *   true where children try out what fits, and are refused some of it
 */
export async function loadOurs(
  name: string,
  supervised: Supervised,
  context: Context,
  {
    models = Object.keys(MODELS),
    mayRunOut = 0,
    fitsItself = false,
  }: { readonly models?: readonly string[]; readonly mayRunOut?: number; readonly fitsItself?: boolean } = {},
): Promise<PartResult & { readonly served: Served }> {
  const served = await runLoad({ ...loadOf(context), models, url: supervised.url });
  const agreement = await compareAtRest(supervised);
  const refusals = await supervised.machine.refusals();
  const exits = supervised.made('out-of-memory');
  return {
    served,
    rows: [
      {
        name,
        requests: served.requests,
        failed: served.failures.length,
        outOfMemory: Math.max(refusals, exits.length),
        evictions: supervised.made('evict').length,
        worstDisagreement: agreement.worst,
      },
    ],
    faults: [
      ...sayFailures(served.failures),
      ...(refusals > mayRunOut && !fitsItself ? [`${refusals} allocations found no room`] : []),
      ...(exits.length > mayRunOut ? exits.map(({ sentence }) => sentence).slice(0, FAILURES_SHOWN) : []),
      ...supervised
        .made('exit')
        .filter(({ sentence }) => !sentence.includes(': stopped ('))
        .map(({ sentence }) => sentence),
      ...(served.requests === 0 ? ['nothing was asked'] : []),
      ...faultsOfEvictions(supervised.decisions),
      ...agreement.faults,
    ],
    remarks: [
      sayServed('ours', served),
      ...sayWhereTimeGoes(supervised.decisions),
      ...agreement.guesses.map((guess) => `not seen at work before: ${guess}`),
    ],
  };
}

export function sayServed(who: string, { answeredMillis, failures, seconds }: Served): string {
  const middle = answeredMillis[Math.floor(answeredMillis.length / 2)] ?? 0;
  const slow = answeredMillis[Math.floor(answeredMillis.length * 0.95)] ?? 0;
  const rate = (answeredMillis.length / seconds).toFixed(1);
  return (
    `${who}: served ${answeredMillis.length} in ${seconds.toFixed(0)} s, ${rate} a second, failed ${failures.length}; ` +
    `median ${middle.toFixed(0)} ms, 95 % within ${slow.toFixed(0)} ms`
  );
}

function sayFailures(failures: readonly string[]): readonly string[] {
  const shown = [...new Set(failures)].slice(0, FAILURES_SHOWN);
  return failures.length === 0 ? [] : [`${failures.length} requests failed`, ...shown];
}
