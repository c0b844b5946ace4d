import { setTimeout as delay } from 'node:timers/promises';
import type { Decision, DeviceView, Snapshot } from '../../../src/client/types.js';
import { MIB } from '../../../src/scheduler/units.js';
import { compareAtRest } from '../agreement.js';
import { ask, runLoad } from '../clients.js';
import { differencesToLedger } from '../differences.js';
import { Pulse, sayLatencies, type Beats } from '../latencies.js';
import { loadOf } from '../loaded.js';
import { GPUS_MIB } from '../models.js';
import { NO_COUNTS, type Context, type Part } from '../part.js';
import { PINNED, Supervised } from '../supervised.js';

const ROUNDS = 3;
/** So little that each GPU has room for any one model beside it, by what is guessed before it was seen at work. */
const FOREIGN_MIB = 30;
/** The foreign program is on the GPU that is lost later. */
const FOREIGN_GPU = 1;
/** Kept running while the driver misbehaves, and loaded meanwhile. */
const [STAYS, COMES] = ['ant', 'bee'] as const;

/** What is aimed at is 3 s; a machine that others use too gets twice that before it counts as a fault. */
const SAID_WITHIN_MILLIS = 2 * 3000;
const WELL_WITHIN_MILLIS = 15_000;
const CALM_MILLIS = 8000;
/** So long a load is given to begin where it must not. */
const WAITED_MILLIS = 1000;
/**
 * On a machine that others use too, requests differ by so much without any reason of ours; and three processes have to
 * get their turn for each of them.
 */
const NOISE = { times: 2, millis: 60, turns: 3, leastMillis: 500 } as const;

interface Fault {
  readonly name: string;
  readonly rule: string;
  readonly millis: number;
  /** True of a snapshot that says so. */
  readonly isSaid: (gpus: readonly DeviceView[]) => boolean;
}

const FAULTS: readonly Fault[] = [
  {
    name: 'the driver is gone',
    rule: 'nvml* error 9',
    millis: 5000,
    isSaid: (gpus) => gpus.every(({ problem }) => problem?.includes('Driver Not Loaded') === true),
  },
  {
    name: 'the driver hangs for 10 s',
    rule: 'nvmlDeviceGetMemoryInfo* hang 10',
    millis: 10_000,
    isSaid: (gpus) => gpus.every(({ problem }) => problem?.includes('hangs') === true),
  },
  {
    name: 'one GPU is lost',
    rule: `nvmlDevice*@${FOREIGN_GPU} error 15`,
    millis: 5000,
    isSaid: (gpus) =>
      gpus[FOREIGN_GPU]?.problem?.includes('GPU is lost') === true && gpus[1 - FOREIGN_GPU]?.problem === null,
  },
  {
    name: 'the driver hides processes',
    rule: 'nvmlDeviceGet*RunningProcesses* na',
    millis: 5000,
    isSaid: (gpus) => gpus.every(({ attributed, remark }) => !attributed && remark !== ''),
  },
];

export const driver: Part = {
  name: 'driver',
  story: 'what is shown is what is there, while programs come and go; then the driver fails in every way it can',
  weight: 1,
  run: (context) =>
    Supervised.on(context.rig, { models: context.models, args: [...PINNED] }, async (supervised) => {
      const calm = await compareWhileInUse(supervised, context);
      const stormy = await failInEveryWay(supervised);
      const made = supervised.decisions.filter(({ ledger }) => ledger.length > 0);
      return {
        rows: [
          {
            ...NO_COUNTS,
            name: 'driver',
            requests: calm.requests,
            failed: calm.failed,
            outOfMemory: await supervised.machine.refusals(),
            evictions: supervised.made('evict').length,
            worstDisagreement: calm.worst,
          },
        ],
        faults: [...calm.faults, ...stormy.faults, ...made.flatMap(faultsOfTotals)],
        remarks: [...calm.remarks, ...stormy.remarks],
      };
    }),
};

/** Rounds of load, with a program that is not ours coming and going; after each all figures have to be the same. */
async function compareWhileInUse(supervised: Supervised, context: Context) {
  const faults: string[] = [];
  let [requests, failed, worst, compared] = [0, 0, 0, 0];
  for (let round = 0; round < ROUNDS; round += 1) {
    const gpu = round % GPUS_MIB.length;
    const stranger = await supervised.machine.foreignProgram(gpu, FOREIGN_MIB);
    const millis = context.millis / ROUNDS;
    const served = await runLoad({
      ...loadOf({ ...context, seed: context.seed + round, millis }),
      url: supervised.url,
    });
    const agreement = await compareAtRest(supervised);
    const exact = await differencesToLedger(supervised);
    compared += exact.compared;
    faults.push(...served.failures.slice(0, 3), ...agreement.faults, ...exact.faults);
    requests += served.requests;
    failed += served.failures.length;
    worst = Math.max(worst, agreement.worst);
    await supervised.machine.endProgram(stranger);
  }
  const after = await differencesToLedger(supervised);
  faults.push(...after.faults);
  const remarks = [
    `${compared + after.compared} figures compared with the ledger at ${ROUNDS + 1} points of rest, byte by byte`,
  ];
  return { requests, failed, worst, faults, remarks };
}

async function failInEveryWay(supervised: Supervised) {
  const { machine, url } = supervised;
  await machine.foreignProgram(FOREIGN_GPU, FOREIGN_MIB);
  for (const model of (await supervised.snapshot()).models.filter(({ generation }) => generation !== null)) {
    await supervised.act('unload', model.id);
  }
  await supervised.untilAtRest();
  const failure = await ask(url, STAYS);
  await supervised.untilAtRest();
  const faults: string[] = failure === null ? [] : [failure];
  const before = await beating(supervised, () => delay(CALM_MILLIS));
  const remarks = [`all is well: ${sayBeats(before)}`];
  for (const fault of FAULTS) {
    const { name, rule, millis, isSaid } = fault;
    const saw = supervised.decisions.length;
    let saidMillis = Infinity;
    const during = await beating(supervised, async () => {
      const began = performance.now();
      await machine.fault(rule);
      const said = await supervised
        .until(name, (snapshot) => isSaid(gpusOf(snapshot)), WELL_WITHIN_MILLIS)
        .catch(() => null);
      if (said !== null) saidMillis = performance.now() - began;
      await delay(Math.max(0, millis - (performance.now() - began)));
    });
    faults.push(...faultsOf(name, 'health', before, during), ...faultsOf(name, 'answers', before, during));
    const unreadable = new Set(
      gpusOf(await supervised.snapshot()).flatMap(({ name: device, problem }) => (problem === null ? [] : [device])),
    );
    const listed = await supervised.ps();
    const unmarked = [...unreadable].filter((device) => !new RegExp(`^${device} .* stale \\d+s$`, 'mu').test(listed));
    faults.push(...unmarked.map((device) => `${name}: ps does not say that the figures of ${device} are old`));
    if (saidMillis > SAID_WITHIN_MILLIS)
      faults.push(`${name}: it took ${saidMillis.toFixed(0)} ms until the snapshot said so`);

    // What cannot be read is not known to be free: a load waits for that, and is served when it is over.
    const answered = ask(url, COMES);
    await delay(WAITED_MILLIS);
    const early = supervised.decisions.slice(saw).filter(({ kind, ledger }) => {
      return kind === 'admit' && ledger.some(({ device }) => unreadable.has(device));
    });
    faults.push(...early.map(({ sentence }) => `${name}: admitted on figures that nobody has seen: ${sentence}`));
    await machine.fault(null);
    const answer = await answered;
    if (answer !== null) faults.push(`${name}: ${answer}`);
    const cleared = performance.now();
    const isWell = (snapshot: Snapshot): boolean =>
      gpusOf(snapshot).every(({ problem, attributed }) => problem === null && attributed);
    await supervised.until(`well again after: ${name}`, isWell, WELL_WITHIN_MILLIS);
    const wellMillis = performance.now() - cleared;
    const admissions = supervised.decisions.slice(saw).filter(({ kind }) => kind === 'admit');
    if (admissions.length === 0) faults.push(`${name}: ${COMES} was not admitted: this shows nothing`);
    faults.push(...admissions.flatMap((decision) => faultsOfExternal(name, decision)));
    await supervised.act('unload', COMES);
    faults.push(...(await differencesToLedger(supervised)).faults.map((difference) => `after ${name}: ${difference}`));
    remarks.push(
      `${name}: said after ${saidMillis.toFixed(0)} ms, well ${wellMillis.toFixed(0)} ms after its end; ${sayBeats(during)}`,
    );
  }
  const refusals = await machine.refusals();
  if (refusals > 0) faults.push(`${refusals} allocations found no room`);
  return { faults, remarks };
}

function gpusOf({ devices }: Snapshot): readonly DeviceView[] {
  return devices.filter(({ kind }) => kind !== 'host');
}

async function beating({ url }: Supervised, use: () => Promise<unknown>): Promise<Beats> {
  const pulse = new Pulse(url, STAYS);
  try {
    await use();
  } finally {
    await pulse.stop();
  }
  return pulse.stop();
}

function faultsOf(name: string, what: 'health' | 'answers', before: Beats, during: Beats): readonly string[] {
  const expected = before[what].p99Millis * NOISE.times + NOISE.millis + during.machine.p99Millis * NOISE.turns;
  const most = Math.max(NOISE.leastMillis, expected);
  const { p99Millis, failures } = during[what];
  return [
    ...[...new Set(failures)].slice(0, 3).map((failure) => `${name}: ${failure}`),
    ...(p99Millis > most
      ? [`${name}: p99 of ${what} went from ${before[what].p99Millis.toFixed(1)} to ${p99Millis.toFixed(1)} ms`]
      : []),
  ];
}

function sayBeats({ health, answers, machine }: Beats): string {
  return `/health ${sayLatencies(health)}; ${STAYS} ${sayLatencies(answers)}; nothing at all p99 ${machine.p99Millis.toFixed(1)} ms`;
}

/** Whatever happens, a GPU is as large as it is. */
function faultsOfTotals({ number, ledger }: Decision): readonly string[] {
  return ledger
    .filter(({ device }) => device.startsWith('CUDA'))
    .filter(({ device, totalBytes }) => totalBytes !== (GPUS_MIB[Number(device.slice(4))] ?? 0) * MIB)
    .map(({ device, totalBytes }) => `decision ${number} takes ${device} for ${totalBytes} bytes large`);
}

/** Nor does what others hold vanish because it cannot be seen. */
function faultsOfExternal(name: string, { number, ledger }: Decision): readonly string[] {
  return ledger
    .filter(({ device }) => device === `CUDA${FOREIGN_GPU}`)
    .filter(({ externalBytes }) => externalBytes < FOREIGN_MIB * MIB)
    .map(({ externalBytes }) => `${name}: decision ${number} takes what others hold for ${externalBytes} bytes`);
}
