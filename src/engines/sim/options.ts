import type { ChildOption } from '../../catalog/entry.js';
import { LLAMA_SERVER_OPTIONS } from '../../catalog/llama-server-options.js';
import type { OptionSpec, OptionTable } from '../../catalog/option-table.js';
import { GIB, type Bytes, type DeviceBytes, type DeviceName } from '../../scheduler/units.js';
import { parseBytes } from './parse-bytes.js';

const SIM_NAMES = [
  /** Memory it takes, all devices together. */
  'sim-size',
  'sim-load-seconds',
  'sim-tokens-per-second',
  /** Seconds after which a ready child crashes. */
  'sim-fail-after',
  'sim-measure-seconds',
  /** `always`, `malformed`, or `until-loaded`: as long as nothing holds memory. */
  'sim-measure-fails',
] as const;

const MEASURE_FAILURES = ['always', 'malformed', 'until-loaded'] as const;
export type MeasureFailure = (typeof MEASURE_FAILURES)[number];

/** What a preset may say about a simulated model: all that llama-server knows, and how the child should behave. */
export const SIM_OPTIONS: OptionTable = [...LLAMA_SERVER_OPTIONS, ...SIM_NAMES.map(valueOption)];

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
  /** Seconds without work after which it leaves memory; null: never. */
  readonly sleepAfterSeconds: number | null;
  readonly measureSeconds: number;
  readonly measureFails: MeasureFailure | null;
}

const DEFAULT_SIZE_BYTES: Bytes = GIB;
const DEFAULT_CONTEXT_TOKENS = 4096;

/** Reads the options of a simulated child. Throws an Error with one sentence when a value makes no sense. */
export function readSimSettings(options: readonly ChildOption[]): SimSettings {
  const values = new Map(options.map(({ name, value }) => [name, value]));
  const text = (
    name: 'alias' | 'ctx-size' | 'device' | 'host' | 'port' | 'sleep-idle-seconds' | (typeof SIM_NAMES)[number],
  ): string | null => {
    const value = values.get(name);
    return typeof value === 'string' ? value : null;
  };
  const number = (name: Parameters<typeof text>[0], otherwise: number, least: number): number => {
    const value = text(name);
    if (value === null) return otherwise;
    const read = value.trim() === '' ? NaN : Number(value);
    if (!Number.isFinite(read) || read < least) {
      throw new Error(`invalid value "${value}" for --${name}: a number of at least ${least} is needed`);
    }
    return read;
  };
  const size = text('sim-size');
  const sizeBytes = size === null ? DEFAULT_SIZE_BYTES : parseBytes(size);
  if (sizeBytes === null) throw new Error(`invalid value "${size ?? ''}" for --sim-size: write it like 8GiB`);
  const failAfter = number('sim-fail-after', -1, 0);
  const sleepAfter = number('sleep-idle-seconds', -1, -1);
  const fails = text('sim-measure-fails');
  const measureFails = MEASURE_FAILURES.find((known) => known === fails) ?? null;
  if (fails !== null && measureFails === null) {
    throw new Error(
      `invalid value "${fails}" for --sim-measure-fails: one of ${MEASURE_FAILURES.join(', ')} is needed`,
    );
  }
  return {
    host: text('host') ?? '127.0.0.1',
    port: number('port', 8080, 0),
    alias: text('alias') ?? 'simulated',
    contextTokens: number('ctx-size', DEFAULT_CONTEXT_TOKENS, 0) || DEFAULT_CONTEXT_TOKENS,
    sizeBytes,
    devices: splitNames(text('device') ?? ''),
    loadSeconds: number('sim-load-seconds', 2, 0),
    tokensPerSecond: number('sim-tokens-per-second', 30, 0.001),
    failAfterSeconds: failAfter < 0 ? null : failAfter,
    sleepAfterSeconds: sleepAfter < 0 ? null : sleepAfter,
    measureSeconds: number('sim-measure-seconds', 0.1, 0),
    measureFails,
  };
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

function valueOption(name: string): OptionSpec {
  return { name, aliases: [], takesValue: true, negatable: false, env: null };
}
