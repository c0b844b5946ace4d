import type { ZodError } from 'zod';
import type { DeviceKind, PolicyName, Settings } from '../scheduler/state.js';
import { HOST, type Millis, type ModelId } from '../scheduler/units.js';
import { DEFAULT_SETTINGS } from '../scheduler/default-settings.js';
import { type Arrival, type Happening, type SimModel, type WorldConfig } from './config.js';
import { Random } from './random.js';
import type { FileHappening, FileModel, FileRequests, ScenarioFile } from './scenario-file.js';
import { faultsOf, scenarioSchema } from './scenario-schema.js';

/** What is wrong with a scenario, where, and what to write instead, in one sentence. */
export class ScenarioError extends Error {
  override readonly name = 'ScenarioError';
}

/** A world that somebody has written down. */
export interface Scenario {
  readonly about: string;
  /** Its own policy, where none is asked for. */
  readonly policy: PolicyName;
  /** The same arrivals and the same luck for each policy. */
  readonly worldOf: (seed: number, policy: PolicyName) => WorldConfig;
}

/** After the last arrival a world may take so long to come to rest. */
const AFTERMATH_MILLIS: Millis = 3_600_000;

/** Makes a scenario of what a file says. Throws ScenarioError. */
export function readScenario(value: unknown): Scenario {
  const parsed = scenarioSchema.safeParse(value);
  if (!parsed.success) throw new ScenarioError(sayFirst(parsed.error));
  const file = parsed.data;
  checkNames(file);
  return { about: file.about, policy: file.settings.policy, worldOf: (seed, policy) => worldOf(file, seed, policy) };
}

function sayFirst(error: ZodError): string {
  const [issue] = error.issues;
  if (issue === undefined) return 'it is no scenario';
  const nested =
    issue.code === 'invalid_union' ? (issue.errors.find((issues) => issues.length > 0)?.[0] ?? null) : null;
  const path = [...issue.path, ...(nested?.path ?? [])].map(String).join('.');
  const { message } = nested ?? issue;
  return path === ''
    ? message.startsWith('Unrecognized')
      ? message
      : `it is no scenario (${message})`
    : `${path}: ${message}`;
}

function checkNames(file: ScenarioFile): void {
  const models = Object.keys(file.models);
  const devices = Object.keys(file.devices);
  const check = (where: string, what: string, name: string, known: readonly string[]): void => {
    if (!known.includes(name))
      throw new ScenarioError(`${where}: there is no ${what} '${name}'; there are ${known.join(', ') || 'none'}`);
  };
  for (const [id, { needs, expects }] of Object.entries(file.models)) {
    for (const need of [...needs, ...(expects ?? [])])
      for (const name of Object.keys(need)) check(`models.${id}`, 'device', name, devices);
    if (expects !== undefined && expects.length !== needs.length)
      throw new ScenarioError(
        `models.${id}.expects: has to name as many ways to lay it out as needs (${needs.length})`,
      );
  }
  for (const [index, request] of file.requests.entries()) {
    for (const name of request.models) check(`requests.${index}`, 'model', name, models);
    const ways = [request.at, request.every, request['about-every']].filter((way) => way !== undefined);
    if (ways.length !== 1)
      throw new ScenarioError(`requests.${index}: say when they come with exactly one of at, every, about-every`);
    if (request.every === 0 || request['about-every'] === 0)
      throw new ScenarioError(`requests.${index}: every 0 would never end; write a length of time`);
  }
  for (const [index, happening] of file.happenings.entries()) {
    if ('device' in happening) check(`happenings.${index}`, 'device', happening.device, devices);
    if ('operator' in happening) check(`happenings.${index}`, 'model', happening.model, models);
    if ('crash' in happening) check(`happenings.${index}`, 'model', happening.crash, models);
  }
}

function worldOf(file: ScenarioFile, seed: number, policy: PolicyName): WorldConfig {
  const { close, rest, lag } = file.watch;
  return {
    seed,
    settings: settingsOf(file, policy),
    devices: Object.entries(file.devices).map(([name, device]) => ({
      name,
      kind: device.kind ?? kindOf(name),
      totalBytes: device.total,
      foreignBytes: device.foreign,
      probe: device.probe,
      showsAfterMillis: device['shows-after'],
      releasesAfterMillis: device['releases-after'],
    })),
    models: Object.keys(file.models).map((id) => modelOf(file, id)),
    arrivals: arrivalsOf(file, new Random(seed)),
    happenings: file.happenings.map(happeningOf),
    faults: faultsOf(file),
    watch: { closeMillis: close, restMillis: rest, lagMillis: lag },
    quietAt: file.lasts,
    endsAt: file.lasts + AFTERMATH_MILLIS,
    gridMillis: 1,
    permutes: false,
  };
}

function kindOf(name: string): DeviceKind {
  if (name === HOST) return 'host';
  return name.startsWith('RPC') ? 'remote' : name.startsWith('Metal') ? 'unified' : 'discrete';
}

function settingsOf({ settings }: ScenarioFile, policy: PolicyName): Settings {
  return {
    ...DEFAULT_SETTINGS,
    policy,
    admission: settings.admission,
    modelsMax: settings['models-max'],
    marginBytes: settings.margin,
    hostMarginBytes: settings['host-margin'],
    maxWaitMillis: settings['max-wait'],
    minResidencyMillis: settings['min-residency'],
    queueMax: settings['queue-max'],
    queueTimeoutMillis: settings['queue-timeout'],
    releaseLimitMillis: settings['release-limit'],
    measures: settings.measure,
    parks: true,
  };
}

function modelOf(file: ScenarioFile, id: ModelId): SimModel {
  const model = file.models[id] as FileModel;
  return {
    spec: {
      id,
      aliases: [],
      placements: (model.expects ?? model.needs).map((need) => ({ need, quality: 'estimate' })),
      contextPinned: model.context === 'pinned',
      fits: model.fits,
      priority: model.priority,
      pinned: model.pinned,
      stopTimeoutMillis: model['stop-timeout'],
      invalid: null,
      fingerprint: id,
      known: null,
    },
    needs: model.needs,
    grows: model.grows,
    loadMillis: model.load,
    exitMillis: model.exit,
    saysEffective: model['says-what-it-took'],
    rest:
      model.rest === null
        ? null
        : {
            as: model.rest.as,
            afterMillis: model.rest.after,
            keepsShare: model.rest.keeps,
            wakeMillis: model.rest.wake,
          },
    measure: { millis: model.measure, ratio: 1, takes: {} },
  };
}

function arrivalsOf(file: ScenarioFile, random: Random): readonly Arrival[] {
  return file.requests.flatMap((request) => {
    const times = timesOf(request, file.lasts, random);
    return times.map((at, index): Arrival => {
      const model = request.models[index % request.models.length] as ModelId;
      const perSecond = file.models[model]?.['tokens-per-second'] ?? 1;
      const holdMillis = request.hold ?? Math.round(((request.tokens ?? 200) / perSecond) * 1000);
      return { at, model, holdMillis, leavesAfterMillis: request.leaves, autoload: true };
    });
  });
}

function timesOf(request: FileRequests, lasts: Millis, random: Random): readonly Millis[] {
  if (request.at !== undefined) return request.at;
  const { every, from, until = lasts } = request;
  const mean = request['about-every'] ?? 0;
  const times: Millis[] = [];
  for (let at = every === undefined ? from + random.gap(mean) : from; at < until; at += every ?? random.gap(mean)) {
    times.push(Math.round(at));
  }
  return times;
}

function happeningOf(happening: FileHappening): Happening {
  const { at } = happening;
  if ('operator' in happening) return { at, type: 'operator', action: happening.operator, model: happening.model };
  if ('crash' in happening) return { at, type: 'crash', model: happening.crash };
  if ('margin' in happening) return { at, type: 'margin', device: happening.device, marginBytes: happening.margin };
  const bytes = 'grows' in happening ? happening.grows : -happening.shrinks;
  return { at, type: 'foreign', device: happening.device, bytes, overMillis: happening.over };
}
