import { LLAMA_SERVER_OPTIONS } from '../../catalog/llama-server-options.js';
import { findOption, nearestOption, truthOf } from '../../catalog/option-table.js';
import { LONGEST_TIMER_MILLIS, type DeviceName } from '../../scheduler/units.js';
import { sayOptionIgnored } from './capability-notes.js';
import type { ContextRequest } from './model/context-size.js';
import { ChildFailure } from './failure.js';
import {
  readSamplingDefaults,
  SAMPLING_OPTIONS,
  type Range,
  type SamplingDefaults,
} from './generation/sampling-defaults.js';

/** What a child was told, in the words of llama-server's options. */
export interface ChildArguments extends ContextRequest {
  readonly modelPath: string;
  readonly alias: string;
  readonly host: string;
  readonly port: number;
  readonly batchTokens: number | null;
  readonly threads: number | null;
  /** Null: all that the device has room for. */
  readonly gpuLayers: number | null;
  readonly devices: readonly DeviceName[];
  readonly mmap: boolean;
  readonly mlock: boolean;
  /** A Jinja template, or null for the model's own. */
  readonly chatTemplate: string | null;
  readonly defaults: SamplingDefaults;
  /** Time without work after which the model leaves memory; null: it stays. */
  readonly sleepIdleMillis: number | null;
  /** One sentence for each option that has no effect here. */
  readonly notices: readonly string[];
}

/** Options that a child acts on; those that only concern how llama-server works need no notice. */
const HONOURED: ReadonlySet<string> = new Set([
  ...['model', 'alias', 'host', 'port', 'ctx-size', 'parallel', 'batch-size', 'threads', 'n-gpu-layers', 'device'],
  ...['embeddings', 'mmap', 'mlock', 'chat-template', 'sleep-idle-seconds'],
  ...SAMPLING_OPTIONS,
  ...['jinja', 'metrics', 'props', 'slots', 'cont-batching', 'tags', 'offline', 'webui', 'timeout'],
]);

/**
 * Reads a child's arguments, and for options not given the environment variables that llama-server has for them.
 * Throws ChildFailure (`bad-arguments`) with one sentence.
 */
export function parseChildArguments(
  words: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): ChildArguments {
  const given = new Map([...readEnvironment(environment), ...readWords(words)]);
  const text = (name: string): string | null => given.get(name) ?? null;
  const truth = (name: string, otherwise: boolean): boolean => truthOf(given.get(name) ?? '') ?? otherwise;
  const number = (name: string, range: Range): number | null => readNumber(name, text(name), range);
  const modelPath = text('model');
  if (modelPath === null) throw new ChildFailure('bad-arguments', 'No model was given; give one with --model FILE.');

  const layers = text('n-gpu-layers');
  const template = text('chat-template');
  const isJinja = template === null || template.includes('{');
  const sleepSeconds = number('sleep-idle-seconds', { min: -1, max: 1e9 });
  if (sleepSeconds === 0) throw new ChildFailure('bad-arguments', '--sleep-idle-seconds cannot be 0; -1 means never.');
  const ignored = [...given.keys()].filter((name) => !HONOURED.has(name));
  return {
    modelPath,
    alias: text('alias') ?? modelPath,
    host: text('host') ?? '127.0.0.1',
    port: number('port', { min: 0, max: 65_535, integer: true }) ?? 8080,
    contextTokens: number('ctx-size', { min: 0, max: 2 ** 31 - 1, integer: true }),
    parallel: positive(number('parallel', { min: -1, max: 64, integer: true })),
    batchTokens: number('batch-size', { min: 1, max: 65_536, integer: true }),
    threads: positive(number('threads', { min: -1, max: 1024, integer: true })),
    gpuLayers: layers === 'auto' || layers === 'all' ? null : atLeastZero(readNumber('n-gpu-layers', layers, LAYERS)),
    devices: (text('device') ?? '').split(',').filter((name) => name !== '' && name !== 'none'),
    embeddings: truth('embeddings', false),
    mmap: truth('mmap', true),
    mlock: truth('mlock', false),
    chatTemplate: isJinja ? template : null,
    defaults: readSamplingDefaults(number),
    sleepIdleMillis:
      sleepSeconds !== null && sleepSeconds > 0 ? Math.min(sleepSeconds * 1000, LONGEST_TIMER_MILLIS) : null,
    notices: [
      ...ignored.map(sayOptionIgnored),
      ...(isJinja ? [] : [`--chat-template ${template} has no effect: only Jinja templates can be given here.`]),
    ],
  };
}

const LAYERS: Range = { min: -1, max: 1e6, integer: true };

function readWords(words: readonly string[]): Map<string, string> {
  const given = new Map<string, string>();
  for (let i = 0; i < words.length; i += 1) {
    const word = words[i] ?? '';
    const [flag = '', ...inline] = word.split('=');
    const match = /^--?[A-Za-z]/u.test(flag) ? findOption(LLAMA_SERVER_OPTIONS, flag.replace(/^--?/u, '')) : null;
    if (match === null) throw new ChildFailure('bad-arguments', unknownArgument(word));
    if (!match.spec.takesValue) {
      given.set(match.spec.name, String(!match.negated));
      continue;
    }
    const value = inline.length > 0 ? inline.join('=') : words[(i += 1)];
    if (value === undefined) throw new ChildFailure('bad-arguments', `${flag} needs a value.`);
    given.set(match.spec.name, value);
  }
  return given;
}

function readEnvironment(environment: Readonly<Record<string, string | undefined>>): Map<string, string> {
  const given = new Map<string, string>();
  for (const [name, value] of Object.entries(environment)) {
    const match = name.startsWith('LLAMA_ARG_') ? findOption(LLAMA_SERVER_OPTIONS, name) : null;
    if (match === null || value === undefined) continue;
    given.set(match.spec.name, match.negativeVariable ? 'false' : value);
  }
  return given;
}

function unknownArgument(word: string): string {
  const nearest = nearestOption(LLAMA_SERVER_OPTIONS, word.replace(/^--?/u, ''));
  return `Unknown argument '${word}'${nearest === null ? '.' : `; did you mean --${nearest}?`}`;
}

function readNumber(name: string, text: string | null, { min, max, integer = false }: Range): number | null {
  if (text === null) return null;
  const value = Number(text);
  if (text.trim() === '' || !(value >= min && value <= max) || (integer && !Number.isInteger(value))) {
    const kind = integer ? 'a whole number' : 'a number';
    throw new ChildFailure('bad-arguments', `--${name} is '${text}'; it must be ${kind} from ${min} to ${max}.`);
  }
  return value;
}

function positive(value: number | null): number | null {
  return value !== null && value > 0 ? value : null;
}

function atLeastZero(value: number | null): number | null {
  return value !== null && value >= 0 ? value : null;
}
