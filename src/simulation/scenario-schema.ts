import { z } from 'zod';
import type { AdmissionMode, PolicyName } from '../scheduler/state.js';
import { NO_FAULTS, type Faults } from './config.js';
import type { ScenarioFile } from './scenario-file.js';
import { parseBytes, parseMillis } from './quantities.js';

/** A length of time in milliseconds, written `300ms`, `1.5s`, `5m` or `2h`. */
const millis = z.union([z.string(), z.number()]).transform((text, context) => {
  const value = parseMillis(text);
  if (value === null) context.addIssue(`'${text}' is no length of time; write it like 300ms, 1.5s, 5m or 2h`);
  return value ?? 0;
});

/** An amount of memory in bytes, written `24GiB` or `512MiB`. */
const bytes = z.union([z.string(), z.number()]).transform((text, context) => {
  const value = parseBytes(text);
  if (value === null) context.addIssue(`'${text}' is no amount of memory; write it like 24GiB or 512MiB`);
  return value ?? 0;
});

const amounts = z.record(z.string(), bytes);
/** One way to lay a model out, or several to choose from, preferred first. */
const layouts = z.union([amounts.transform((one) => [one]), z.array(amounts).min(1)]);

const POLICY_NAMES = ['lru', 'lru-any-device', 'cost'] as const satisfies readonly PolicyName[];
const ADMISSION_MODES = ['wait', 'refuse', 'proceed'] as const satisfies readonly AdmissionMode[];

const settings = z.strictObject({
  policy: z.enum(POLICY_NAMES).default('lru'),
  admission: z.enum(ADMISSION_MODES).default('wait'),
  'models-max': z.int().min(0).default(0),
  margin: bytes.default(1024 ** 3),
  'host-margin': bytes.nullable().default(null),
  'max-wait': millis.default(30_000),
  'min-residency': millis.default(0),
  'queue-max': z.int().min(0).default(256),
  'queue-timeout': millis.default(0),
  'release-limit': millis.default(5000),
  measure: z.boolean().default(false),
});

const device = z.strictObject({
  total: bytes,
  kind: z.enum(['discrete', 'unified', 'remote', 'host']).optional(),
  /** In use by other programs from the start. */
  foreign: bytes.default(0),
  /** `attributed`: processes can be told apart; `total`: they cannot; `none`: known from what children say only. */
  probe: z.enum(['attributed', 'total', 'none']).default('attributed'),
  'shows-after': millis.default(0),
  'releases-after': millis.default(0),
});

const model = z.strictObject({
  needs: layouts,
  /** What is expected of it beforehand; the same as it needs where nothing is said. */
  expects: layouts.optional(),
  grows: amounts.default({}),
  load: millis.default(5000),
  exit: millis.default(200),
  'stop-timeout': millis.default(10_000),
  'tokens-per-second': z.number().positive().default(40),
  context: z.enum(['pinned', 'open']).default('pinned'),
  fits: z.boolean().default(false),
  priority: z.int().default(0),
  pinned: z.boolean().default(false),
  'says-what-it-took': z.boolean().default(true),
  measure: millis.default(500),
  rest: z
    .strictObject({
      as: z.enum(['sleeping', 'parked']).default('sleeping'),
      after: millis,
      keeps: z.number().min(0).max(1).default(0.1),
      wake: millis.default(1000),
    })
    .nullable()
    .default(null),
});

/** Requests: at certain times, or again and again; the models in turn where there are several. */
const requests = z.strictObject({
  models: z.union([z.string().transform((one) => [one]), z.array(z.string()).min(1)]),
  at: z.array(millis).optional(),
  every: millis.optional(),
  /** On average, at random. */
  'about-every': millis.optional(),
  from: millis.default(0),
  until: millis.optional(),
  /** How long an answer takes; or how many tokens it has. */
  hold: millis.optional(),
  tokens: z.int().positive().optional(),
  /** The client goes after this long, served or not. */
  leaves: millis.nullable().default(null),
});

const happening = z.union([
  z.strictObject({
    at: millis,
    operator: z.enum([
      'load',
      'withdraw',
      'unload',
      'kill',
      'pin',
      'unpin',
      'block',
      'unblock',
      'measure',
      'cancel',
      'park',
      'wake',
    ]),
    model: z.string(),
  }),
  z.strictObject({ at: millis, crash: z.string() }),
  z.strictObject({ at: millis, margin: bytes, device: z.string() }),
  z.strictObject({ at: millis, grows: bytes, device: z.string(), over: millis.default(0) }),
  z.strictObject({ at: millis, shrinks: bytes, device: z.string(), over: millis.default(0) }),
]);

const FAULT_NAMES = Object.keys(NO_FAULTS) as (keyof Faults)[];

const faults = z.partialRecord(z.enum(FAULT_NAMES.map(toKebab)), z.number().min(0).max(1));

const scenario = z.strictObject({
  about: z.string().default(''),
  lasts: millis,
  settings: settings.prefault({}),
  watch: z
    .strictObject({ close: millis.default(150), rest: millis.default(1000), lag: millis.default(0) })
    .prefault({}),
  devices: z.record(z.string(), device),
  models: z.record(z.string(), model),
  requests: z.array(requests).default([]),
  happenings: z.array(happening).default([]),
  faults: faults.default({}),
});

/** What may stand in a scenario file: lengths of time become milliseconds, amounts of memory become bytes. */
export const scenarioSchema: z.ZodType<ScenarioFile> = scenario;

/** `crash-loading` in files is `crashLoading` here. */
export function faultsOf(file: ScenarioFile): Faults {
  const set = FAULT_NAMES.flatMap((name) => {
    const probability = file.faults[toKebab(name)];
    return probability === undefined ? [] : [[name, probability] as const];
  });
  return { ...NO_FAULTS, ...Object.fromEntries(set) };
}

function toKebab(name: string): string {
  return name.replace(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`);
}
