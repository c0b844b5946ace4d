import type { OperatorAction } from '../../src/scheduler/events.js';
import type { AdmissionMode, DeviceKind, Placement, PolicyName, Settings } from '../../src/scheduler/state.js';
import { GIB, HOST, MIB, type Bytes, type DeviceBytes } from '../../src/scheduler/units.js';
import { DEFAULT_SETTINGS } from '../../src/scheduler/default-settings.js';
import {
  NO_FAULTS,
  type Arrival,
  type Faults,
  type Happening,
  type SimDevice,
  type SimModel,
  type WorldConfig,
} from '../../src/simulation/config.js';
import { Random } from '../../src/simulation/random.js';

const POLICIES: readonly PolicyName[] = ['lru', 'lru-any-device', 'cost'];
const ADMISSIONS: readonly AdmissionMode[] = ['wait', 'wait', 'wait', 'wait', 'refuse', 'proceed'];
const ACTIONS: readonly OperatorAction[] = [
  ...(['block', 'kill', 'pin', 'unpin', 'load', 'unload', 'unblock', 'measure'] as const),
  ...(['cancel', 'park', 'wake', 'withdraw'] as const),
];

/** A random world; everything in it follows from the seed. `policy` null: drawn too. */
export function drawWorld(seed: number, policy: PolicyName | null = null): WorldConfig {
  const random = new Random(seed);
  const lasts = random.between(8, 40) * 1000;
  const devices = drawDevices(random);
  const models = Array.from({ length: random.between(3, 8) }, (_, i) => drawModel(random, `m${i}`, 1, devices));
  const settings = drawSettings(random, policy ?? random.pick(POLICIES));
  return {
    seed,
    settings,
    devices,
    models,
    arrivals: drawArrivals(random, models, lasts),
    happenings: drawHappenings(random, models, devices, settings, lasts),
    faults: random.chance(0.2) ? NO_FAULTS : drawFaults(random),
    watch: {
      closeMillis: random.pick([150, 300, 500]),
      restMillis: random.pick([1000, 2500]),
      lagMillis: random.pick([0, 50, 300]),
    },
    quietAt: lasts,
    endsAt: lasts + 900_000,
    gridMillis: random.pick([1, 10, 50, 250]),
    permutes: random.chance(0.7),
  };
}

const DEVICE_NAMES: readonly (readonly [string, DeviceKind])[] = [
  ['CUDA0', 'discrete'],
  ['CUDA1', 'discrete'],
  ['RPC0', 'remote'],
  ['Metal', 'unified'],
];

function drawDevices(random: Random): readonly SimDevice[] {
  const device = (name: string, kind: DeviceKind, totalBytes: Bytes): SimDevice => ({
    name,
    kind,
    totalBytes,
    foreignBytes: random.chance(0.5) ? 0 : random.between(0, 3) * GIB,
    probe: random.pick(['attributed', 'attributed', 'total', 'none']),
    showsAfterMillis: random.pick([0, 0, 100, 300]),
    releasesAfterMillis: random.pick([0, 0, 400, 1500, 7000]),
  });
  const count = random.pick([0, 1, 1, 1, 2, 2, 3, 4]);
  const devices = random
    .shuffle(DEVICE_NAMES)
    .slice(0, count)
    .map(([name, kind]) => device(name, kind, random.pick([8, 12, 24]) * GIB));
  return count === 0 || random.chance(0.5) ? [...devices, device(HOST, 'host', random.pick([8, 32]) * GIB)] : devices;
}

function drawModel(random: Random, id: string, version: number, devices: readonly SimDevice[]): SimModel {
  const needs = drawNeeds(random, devices);
  const isKnownExactly = random.chance(0.5);
  const placements = needs.map((need): Placement => {
    const off = isKnownExactly ? 1 : 0.6 + random.next();
    return { need: scaled(need, off), quality: random.pick(['estimate', 'min']) };
  });
  const [first = {}] = needs;
  const takes = random.chance(0.5) ? Object.fromEntries(Object.keys(first).map((name) => [name, 300 * MIB])) : {};
  return {
    spec: {
      id,
      aliases: [],
      placements,
      measureClaim: scaled(takes, 0.6 + random.next()),
      contextPinned: random.chance(0.6),
      fits: random.chance(0.3),
      priority: random.chance(0.3) ? random.between(-1, 2) : 0,
      pinned: random.chance(0.06),
      stopTimeoutMillis: random.pick([0, 500, 3000, 10_000]),
      invalid: random.chance(0.01) ? 'a shard is missing' : null,
      fingerprint: `${id} ${version}`,
      known: random.chance(0.15)
        ? { measured: null, observed: needs[0] ?? null, loadMillis: random.between(100, 5000) }
        : null,
    },
    needs,
    grows: random.chance(0.3) ? scaled(needs[0] ?? {}, random.next() * 0.3) : {},
    loadMillis: random.pick([0, 100, 500, 1500, 5000]),
    exitMillis: random.pick([0, 50, 1000, 20_000]),
    saysEffective: random.chance(0.5),
    rest: random.chance(0.3)
      ? {
          as: random.pick(['sleeping', 'sleeping', 'parked']),
          afterMillis: random.pick([1000, 2000, 5000]),
          keepsShare: random.pick([0, 0.1, 0.5, 1]),
          wakeMillis: random.pick([0, 300, 2000]),
        }
      : null,
    measure: { millis: random.pick([0, 200, 3000]), ratio: 0.7 + random.next() * 0.5, takes },
  };
}

/** Shares of a device: two or three of the usual ones do not fit together. */
const SHARES = [0.15, 0.3, 0.3, 0.4, 0.5, 0.6, 0.75];

/** On one device, on several, or on any one of several; seldom on one that is not there, or larger than any. */
function drawNeeds(random: Random, devices: readonly SimDevice[]): readonly DeviceBytes[] {
  const totals = new Map(devices.map(({ name, totalBytes }) => [name, totalBytes]));
  if (random.chance(0.03)) totals.set('CUDA7', 8 * GIB);
  const names = [...totals.keys()];
  const size = (name: string): Bytes => {
    const share = random.chance(0.04) ? 1.3 : random.pick(SHARES);
    return Math.floor((totals.get(name) ?? 0) * share) - random.between(0, 300) * MIB;
  };
  const shuffled = random.shuffle(names);
  if (names.length > 1 && random.chance(0.25)) {
    const bytes = size(shuffled[0] ?? HOST);
    return shuffled.slice(0, random.between(2, names.length)).map((name) => ({ [name]: bytes }));
  }
  const used = shuffled.slice(0, random.chance(0.7) ? 1 : random.between(1, names.length));
  return [Object.fromEntries(used.map((name) => [name, size(name)]))];
}

function scaled(amounts: DeviceBytes, by: number): DeviceBytes {
  return Object.fromEntries(Object.entries(amounts).map(([name, bytes]) => [name, Math.floor(bytes * by)]));
}

function drawSettings(random: Random, policy: PolicyName): Settings {
  return {
    ...DEFAULT_SETTINGS,
    modelsMax: random.pick([0, 0, 0, 1, 2, 3]),
    marginBytes: random.pick([0, GIB, GIB, GIB, GIB, GIB, 512 * MIB]),
    hostMarginBytes: random.pick([null, null, 0, GIB]),
    policy,
    admission: random.pick(ADMISSIONS),
    minResidencyMillis: random.pick([0, 0, 0, 3000]),
    maxWaitMillis: random.pick([0, 2000, 10_000, 30_000]),
    queueMax: random.pick([1, 4, 256, 256, 256, 256, 256, 256, 256, 256, 256, 256]),
    queueTimeoutMillis: random.pick([0, 0, 0, 5000]),
    measures: random.chance(0.4),
    parks: true,
    measureLimitMillis: random.pick([1000, 20_000]),
    releaseLimitMillis: random.pick([1000, 5000]),
    killHung: random.chance(0.4),
  };
}

function drawArrivals(random: Random, models: readonly SimModel[], lasts: number): readonly Arrival[] {
  const arrivals: Arrival[] = [];
  const favourites = models.filter(() => random.chance(0.7));
  const gap = random.pick([300, 800, 2500]);
  for (let at = random.gap(gap); at < lasts && arrivals.length < 60; at += random.gap(gap)) {
    const model = favourites.length === 0 || random.chance(0.1) ? random.pick(models) : random.pick(favourites);
    const burst = random.chance(0.15) ? random.between(2, 4) : 1;
    for (let i = 0; i < burst; i += 1) {
      arrivals.push({
        at: Math.round(at / 50) * 50,
        model: random.chance(0.01) ? 'nobody' : model.spec.id,
        holdMillis: random.pick([0, 100, 500, 500, 2000, 10_000]),
        leavesAfterMillis: random.chance(0.2) ? random.between(0, 6000) : null,
        autoload: random.chance(0.98),
      });
    }
  }
  return arrivals;
}

function drawHappenings(
  random: Random,
  models: readonly SimModel[],
  devices: readonly SimDevice[],
  settings: Settings,
  lasts: number,
): readonly Happening[] {
  const happenings: Happening[] = [];
  const sometimes = (probability: number, most: number, make: (at: number) => Happening): void => {
    if (!random.chance(probability)) return;
    const count = random.between(1, most);
    for (let i = 0; i < count; i += 1) happenings.push(make(Math.round((random.next() * lasts) / 50) * 50));
  };
  const anyModel = (): string => random.pick(models).spec.id;
  sometimes(0.6, 8, (at) => ({ at, type: 'operator', action: random.pick(ACTIONS), model: anyModel() }));
  sometimes(0.2, 2, (at) => ({
    at,
    type: 'margin',
    device: random.pick(devices).name,
    marginBytes: random.between(0, 4) * GIB,
  }));
  sometimes(0.3, 3, (at) => ({
    at,
    type: 'foreign',
    device: random.pick(devices).name,
    bytes: random.between(-4, 6) * GIB,
    overMillis: random.pick([0, 3000]),
  }));
  sometimes(0.15, 2, (at) => ({ at, type: 'clock-jump', byMillis: random.between(-5000, 2000) }));
  sometimes(0.2, 2, (at) => ({ at, type: 'crash', model: anyModel() }));
  sometimes(0.1, 1, (at) => ({
    at,
    type: 'settings',
    settings: { ...settings, modelsMax: random.between(0, 3), policy: random.pick(POLICIES) },
  }));
  sometimes(0.3, 3, (at) => ({ at, type: 'reload', models: drawReload(random, models, devices) }));
  if (random.chance(0.05)) happenings.push({ at: Math.round(lasts * (0.5 + random.next() / 2)), type: 'shutdown' });
  return happenings;
}

/** Some stay, some change, some go, some are new. */
function drawReload(random: Random, models: readonly SimModel[], devices: readonly SimDevice[]): readonly SimModel[] {
  const reloaded = models.flatMap((model): SimModel[] => {
    if (random.chance(0.15)) return [];
    if (random.chance(0.15)) return [drawModel(random, model.spec.id, random.between(2, 1_000_000), devices)];
    if (random.chance(0.1)) return [{ ...model, spec: { ...model.spec, pinned: !model.spec.pinned } }];
    return [model];
  });
  if (random.chance(0.3)) reloaded.push(drawModel(random, 'new', random.between(1, 1_000_000), devices));
  return random.chance(0.3) ? random.shuffle(reloaded) : reloaded;
}

/** A few kinds of faults at a time, each seldom or often. */
function drawFaults(random: Random): Faults {
  const kinds = Object.keys(NO_FAULTS) as (keyof Faults)[];
  const share = random.pick([0.1, 0.1, 0.3, 0.6]);
  return {
    ...NO_FAULTS,
    ...Object.fromEntries(
      kinds.filter(() => random.chance(share)).map((kind) => [kind, random.pick([0.02, 0.05, 0.2])]),
    ),
  };
}

/**
 * The same world without lies: every model takes what it says, other programs stay as they are, probes and children tell
 * the truth, only later. Nothing may run out of memory in it.
 */
export function honest(world: WorldConfig): WorldConfig {
  const { settings } = world;
  const marginBytes = Math.max(settings.marginBytes, GIB);
  const tell = ({ spec, needs, ...model }: SimModel): SimModel => {
    const placements = needs.map((need): Placement => ({ need, quality: 'estimate' }));
    const measure = { ...model.measure, ratio: 1 };
    return {
      ...model,
      needs,
      spec: { ...spec, placements, contextPinned: true, fits: false, known: null, measureClaim: measure.takes },
      grows: {},
      measure,
    };
  };
  return {
    ...world,
    settings: {
      ...settings,
      marginBytes,
      hostMarginBytes: marginBytes,
      admission: settings.admission === 'proceed' ? 'wait' : settings.admission,
      releaseLimitMillis: 20_000,
    },
    devices: world.devices.map((device) => ({ ...device, probe: 'attributed' })),
    models: world.models.map(tell),
    happenings: world.happenings.flatMap((happening): Happening[] => {
      if (happening.type === 'reload') return [{ ...happening, models: happening.models.map(tell) }];
      return happening.type === 'operator' || happening.type === 'crash' ? [happening] : [];
    }),
    faults: NO_FAULTS,
  };
}
