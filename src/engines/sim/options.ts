import type { ChildOption } from '../../catalog/entry.js';
import { LLAMA_SERVER_OPTIONS } from '../../catalog/llama-server-options.js';
import type { OptionSpec, OptionTable } from '../../catalog/option-table.js';
import type { ValueForm } from '../../catalog/option-value.js';
import {
  GIB,
  LONGEST_TIMER_MILLIS,
  type Bytes,
  type DeviceBytes,
  type DeviceName,
  type Millis,
} from '../../scheduler/units.js';
import { parseBytes } from './parse-bytes.js';

const MEASURE_FAILURES = ['always', 'malformed', 'until-loaded'] as const;
export type MeasureFailure = (typeof MEASURE_FAILURES)[number];

/** How a simulated child should behave, and what each of that takes. */
const SIM_FORMS = {
  /** Memory it takes, all devices together. */
  'sim-size': { name: 'a size like 8GiB', fits: (value) => parseBytes(value) !== null },
  'sim-load-seconds': numberFrom(0),
  'sim-tokens-per-second': numberFrom(0.001),
  /** Seconds after which a ready child crashes. */
  'sim-fail-after': numberFrom(0),
  'sim-measure-seconds': numberFrom(0),
  /** `always`, `malformed`, or `until-loaded`: as long as nothing holds memory. */
  'sim-measure-fails': {
    name: `one of ${MEASURE_FAILURES.join(', ')}`,
    fits: (value) => MEASURE_FAILURES.some((known) => known === value),
  },
} as const satisfies Readonly<Record<string, ValueForm>>;

/** What a preset may say about a simulated model: all that llama-server knows, and how the child should behave. */
export const SIM_OPTIONS: OptionTable = [
  ...LLAMA_SERVER_OPTIONS,
  ...Object.entries(SIM_FORMS).map(([name, form]): OptionSpec => {
    return { name, aliases: [], takesValue: true, negatable: false, env: null, form };
  }),
];

/** Where the engine tells its children about the devices; not options, since no preset may change them. */
export const LEDGER_VARIABLE = 'SIM_LEDGER';
export const DEVICES_VARIABLE = 'SIM_DEVICES';

export interface SimSettings {
  readonly host: string;
  readonly port: number;
  readonly alias: string;
  readonly contextTokens: number;
  readonly sizeBytes: Bytes;
  /** Empty: the child takes the first device. */
  readonly devices: readonly DeviceName[];
  readonly loadSeconds: number;
  readonly tokensPerSecond: number;
  readonly failAfterSeconds: number | null;
  /** After so long without work it leaves memory; null: never. */
  readonly sleepAfterMillis: Millis | null;
  readonly measureSeconds: number;
  readonly measureFails: MeasureFailure | null;
}

const DEFAULT_SIZE_BYTES: Bytes = GIB;
const DEFAULT_CONTEXT_TOKENS = 4096;

/** Reads the options of a simulated child. Throws an Error with one sentence when a value makes no sense. */
export function readSimSettings(options: readonly ChildOption[]): SimSettings {
  const values = new Map(options.map(({ name, value }) => [name, value]));
  const text = (
    name: 'alias' | 'ctx-size' | 'device' | 'host' | 'port' | 'sleep-idle-seconds' | keyof typeof SIM_FORMS,
  ): string | null => {
    const value = values.get(name);
    return typeof value === 'string' ? value : null;
  };
  const number = (name: Parameters<typeof text>[0], otherwise: number, least = -Infinity): number => {
    const value = text(name);
    if (value === null) return otherwise;
    if (!isNumberFrom(least, value)) throw new Error(invalid(name, value, numberFrom(least)));
    return Number(value);
  };
  for (const [name, form] of Object.entries(SIM_FORMS)) {
    const value = values.get(name);
    if (typeof value === 'string' && !form.fits(value)) throw new Error(invalid(name, value, form));
  }
  const failAfter = number('sim-fail-after', -1);
  const sleepAfter = number('sleep-idle-seconds', -1, -1);
  const fails = text('sim-measure-fails');
  const measureFails = MEASURE_FAILURES.find((known) => known === fails) ?? null;
  return {
    host: text('host') ?? '127.0.0.1',
    port: number('port', 8080, 0),
    alias: text('alias') ?? 'simulated',
    contextTokens: number('ctx-size', DEFAULT_CONTEXT_TOKENS, 0) || DEFAULT_CONTEXT_TOKENS,
    sizeBytes: parseBytes(text('sim-size') ?? '') ?? DEFAULT_SIZE_BYTES,
    devices: splitNames(text('device') ?? ''),
    loadSeconds: number('sim-load-seconds', 2),
    tokensPerSecond: number('sim-tokens-per-second', 30),
    failAfterSeconds: failAfter < 0 ? null : failAfter,
    sleepAfterMillis: sleepAfter < 0 ? null : Math.min(sleepAfter * 1000, LONGEST_TIMER_MILLIS),
    measureSeconds: number('sim-measure-seconds', 0.1),
    measureFails,
  };
}

function invalid(name: string, value: string, form: ValueForm): string {
  return `invalid value "${value}" for --${name}: it takes ${form.name}`;
}

/** Reads a command line. Throws an Error that names what is unknown or incomplete, as llama-server does. */
export function parseSimArguments(args: readonly string[]): readonly ChildOption[] {
  const options: ChildOption[] = [];
  for (let index = 0; index < args.length; index++) {
    const argument = args[index] ?? '';
    const spelling = argument.replace(/^--?/, '');
    const spec = SIM_OPTIONS.find(({ name, aliases }) => name === spelling || aliases.includes(spelling));
    const negated = SIM_OPTIONS.find(({ name, negatable, negatedAliases = [] }) => {
      return negatable && [`no-${name}`, ...negatedAliases].includes(spelling);
    });
    if (argument === spelling || (spec === undefined && negated === undefined)) {
      throw new Error(`invalid argument: ${argument}`);
    }
    if (spec?.takesValue === true) {
      const value = args[++index];
      if (value === undefined) throw new Error(`expected value for argument: ${argument}`);
      options.push({ name: spec.name, value });
    } else if (spec) options.push({ name: spec.name, value: true });
    else if (negated) options.push({ name: negated.name, value: false });
  }
  return options;
}

/** Shares an amount between devices, evenly, to the byte. */
export function splitEvenly(sizeBytes: Bytes, devices: readonly DeviceName[]): DeviceBytes {
  const share = Math.floor(sizeBytes / devices.length);
  const rest = sizeBytes - share * devices.length;
  return Object.fromEntries(devices.map((name, index) => [name, index < rest ? share + 1 : share]));
}

function splitNames(text: string): readonly DeviceName[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

function numberFrom(least: number): ValueForm {
  return { name: `a number of at least ${least}`, fits: (value) => isNumberFrom(least, value) };
}

function isNumberFrom(least: number, value: string): boolean {
  return value.trim() !== '' && Number.isFinite(Number(value)) && Number(value) >= least;
}
