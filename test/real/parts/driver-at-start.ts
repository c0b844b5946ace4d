import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ask } from '../clients.js';
import { during } from '../during.js';
import { Machine } from '../machine.js';
import { GPUS_MIB } from '../models.js';
import { NO_COUNTS, type Context, type Part, type PartResult } from '../part.js';
import { Supervised } from '../supervised.js';

/** May use a GPU. */
const MODEL = 'ant';
/** The same file, for the processor alone. */
const ON_PROCESSOR = 'bee-on-the-processor';
/** So long a load is given to begin where it must not. */
const WAITED_MILLIS = 1500;
const WELL_WITHIN_MILLIS = 30_000;

interface Fault {
  readonly name: string;
  readonly rule: string;
  /** What the reason to wait has to say. */
  readonly words: RegExp;
}

/** A row of `llm-tui ps` for a GPU without any figure, and for one that is read. */
const UNREAD = /^CUDA\d+ +(?:- +){5}unread \d+s$/u;
const READ = /^CUDA\d+ +(?:\d+ +){4}600 MiB$/u;

const FAULTS: readonly Fault[] = [
  { name: 'a driver that is not loaded', rule: 'nvmlInit* error 9', words: /Driver Not Loaded/u },
  { name: 'a driver of another version', rule: 'nvmlInit* error 18', words: /version mismatch/u },
  { name: 'a driver that hangs', rule: 'nvmlInit* hang 60', words: /hangs/u },
  { name: 'GPUs that are all lost', rule: 'nvmlDevice* error 15', words: /GPU is lost/u },
];

export const driverAtStart: Part = {
  name: 'driver-at-start',
  story: 'the driver fails before anything was ever read: nothing is loaded on a GPU until it can be',
  weight: 0,
  run: async (context) => {
    const faults: string[] = [];
    const remarks: string[] = [];
    for (const fault of FAULTS) {
      const result = await during(new Machine(context.rig, GPUS_MIB), (machine) => startWith(machine, fault, context));
      faults.push(...result.faults.map((words) => `${fault.name}: ${words}`));
      remarks.push(...result.remarks.map((words) => `${fault.name}: ${words}`));
    }
    return { rows: [{ ...NO_COUNTS, name: 'driver-at-start' }], faults, remarks };
  },
};

async function startWith(
  machine: Machine,
  { rule, words }: Fault,
  { models }: Context,
): Promise<Omit<PartResult, 'rows'>> {
  await machine.fault(rule);
  const preset = join(machine.directory, 'models.ini');
  writeFileSync(preset, `[${ON_PROCESSOR}]\nmodel = ${join(models, 'bee.gguf')}\nn-gpu-layers = 0\n`);
  const args = ['--models-preset', preset, '--ctx-size', '512', '--fit', 'off', '--parallel', '1'];
  return during(await Supervised.launch(machine, models, ...args), async (supervised) => {
    const faults: string[] = [];
    const answer = ask(supervised.url, MODEL);
    const { why } = await supervised.until(
      'the load waits, and says why',
      ({ queue }) => queue.find((entry) => entry.model === MODEL && words.test(entry.why)),
      WELL_WITHIN_MILLIS,
    );
    const onProcessor = await ask(supervised.url, ON_PROCESSOR);
    if (onProcessor !== null) faults.push(onProcessor);
    faults.push(...faultsOfRows(await supervised.ps(), UNREAD, words));
    await delay(WAITED_MILLIS);
    const early = supervised.made('admit').filter(({ model }) => model !== ON_PROCESSOR);
    faults.push(...early.map(({ sentence }) => `admitted on figures that nobody has seen: ${sentence}`));

    await machine.fault(null);
    const cleared = performance.now();
    const failure = await answer;
    if (failure !== null) faults.push(failure);
    const millis = performance.now() - cleared;
    const admitted = supervised.made('admit').find(({ model }) => model === MODEL);
    const devices = admitted?.ledger.map(({ device }) => device) ?? [];
    if (!devices.some((device) => device.startsWith('CUDA')))
      faults.push(`not admitted on a GPU: ${devices.join(', ')}`);
    faults.push(...faultsOfRows(await supervised.ps(), READ));
    return { faults, remarks: [`"${why}"; answered ${millis.toFixed(0)} ms after its end`] };
  });
}

/** Every GPU is listed, as it has to be, and what is said of those that cannot be read. */
function faultsOfRows(text: string, row: RegExp, words: RegExp = /^/u): readonly string[] {
  const rows = text.split('\n').filter((line) => /^CUDA\d+ /u.test(line));
  const [told, listed] = [
    rows.filter((line) => line.includes('cannot be read')),
    rows.filter((line) => !line.includes('cannot be read')),
  ];
  return [
    ...(listed.length === 0 ? ['ps has no row for any GPU'] : []),
    ...listed.filter((line) => !row.test(line)).map((line) => `ps says: ${line}`),
    ...told.filter((line) => !words.test(line)).map((line) => `ps gives other words: ${line}`),
  ];
}
