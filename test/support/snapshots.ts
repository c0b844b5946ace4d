import type {
  Decision,
  DeviceSegment,
  ReadDeviceView,
  UnreadDeviceView,
  ModelView,
  QueueView,
  Snapshot,
  SupervisorInfo,
} from '../../src/client/types.js';
import { GIB } from '../../src/scheduler/units.js';

/** The time at which sample snapshots are taken, unless a test says otherwise: noon, 30 November 2026, UTC. */
export const SAMPLE_TIME: number = Date.UTC(2026, 10, 30, 12, 0, 0);

/** A device with a ledger that adds up; what is free follows from the rest. */
export function sampleDevice(name: string, parts: Partial<ReadDeviceView> = {}): ReadDeviceView {
  const segments: readonly DeviceSegment[] = parts.segments ?? [];
  const bytesOf = (part: DeviceSegment['part']): number =>
    segments.filter((segment) => segment.part === part).reduce((sum, segment) => sum + segment.bytes, 0);
  const totalBytes = parts.totalBytes ?? 24 * GIB;
  const heldBytes = parts.heldBytes ?? bytesOf('held') + bytesOf('releasing');
  const reservedBytes = parts.reservedBytes ?? bytesOf('reserved');
  const externalBytes = parts.externalBytes ?? 0;
  return {
    name,
    kind: name === 'Host' ? 'host' : 'discrete',
    description: name === 'Host' ? 'system memory' : 'RTX 4090',
    totalBytes,
    heldBytes,
    reservedBytes,
    externalBytes,
    freeBytes: Math.max(0, totalBytes - heldBytes - reservedBytes - externalBytes),
    releasingBytes: bytesOf('releasing'),
    overcommitBytes: 0,
    marginBytes: GIB,
    sampledAt: SAMPLE_TIME,
    attributed: true,
    source: name === 'Host' ? 'host' : 'nvml',
    remark: '',
    foreign: [],
    problem: null,
    problemSince: null,
    segments,
    ...parts,
  };
}

/** A device that could never be read. */
export function unreadDevice(name: string, problem: string, problemSince: number = SAMPLE_TIME): UnreadDeviceView {
  const known = { name, kind: null, description: '', attributed: false, source: '', remark: '', foreign: [] } as const;
  const ledger = {
    totalBytes: null,
    heldBytes: null,
    reservedBytes: null,
    externalBytes: null,
    freeBytes: null,
  } as const;
  const besides = { releasingBytes: null, overcommitBytes: null, marginBytes: null, sampledAt: null } as const;
  return { ...known, ...ledger, ...besides, problem, problemSince, segments: [] };
}

/** A model that is not loaded. */
export function sampleModel(id: string, parts: Partial<ModelView> = {}): ModelView {
  return {
    id,
    aliases: [],
    word: 'unloaded',
    pinned: false,
    blocked: false,
    invalid: null,
    devices: ['CUDA0'],
    claim: { CUDA0: 8 * GIB },
    claimQuality: 'estimate',
    memory: { status: 'unmeasured', measured: null, observed: null },
    resident: {},
    contextTokens: null,
    generation: null,
    pid: null,
    requests: 0,
    lastUsedAt: null,
    loadingSince: null,
    progress: null,
    loadMillis: null,
    draining: false,
    hungSince: null,
    lastStop: null,
    lastExit: null,
    ...parts,
  };
}

/** A model that runs. */
export function readyModel(id: string, bytes: number, parts: Partial<ModelView> = {}): ModelView {
  return sampleModel(id, {
    word: 'ready',
    generation: 1,
    pid: 4321,
    claim: { CUDA0: bytes },
    claimQuality: 'observed',
    resident: { CUDA0: bytes },
    contextTokens: 32_768,
    lastUsedAt: SAMPLE_TIME - 300_000,
    ...parts,
  });
}

export function sampleDecision(number: number, parts: Partial<Decision> = {}): Decision {
  return {
    number,
    at: SAMPLE_TIME - 60_000 + number * 1_000,
    kind: 'admit',
    model: 'qwen3-32b',
    forModel: null,
    asker: { kind: 'operator' },
    ledger: [],
    runningInstances: 1,
    modelsMax: 4,
    plan: [],
    passedOver: [],
    proceeded: false,
    sentence: `decision number ${number}`,
    ...parts,
  };
}

export function sampleQueueEntry(position: number, model: string, parts: Partial<QueueView> = {}): QueueView {
  return {
    position,
    model,
    since: SAMPLE_TIME - 12_000,
    waiters: 1,
    wantedBy: 'requests',
    why: 'needs 6.2 GiB on CUDA0',
    decision: 0,
    ...parts,
  };
}

export const SAMPLE_SUPERVISOR: SupervisorInfo = {
  version: '0.1.0',
  pid: 100,
  startedAt: SAMPLE_TIME - 3 * 3_600_000 - 12 * 60_000,
  url: 'http://127.0.0.1:8080',
  host: 'rig1',
  engine: { name: 'llama-server', reason: 'found in PATH', simulated: false },
  startedWith: '',
  sources: ['/home/user/models'],
  notices: [],
};

export function sampleSnapshot(parts: Partial<Snapshot> = {}): Snapshot {
  return {
    schema: 1,
    at: SAMPLE_TIME,
    modelsMax: 4,
    devices: [],
    models: [],
    queue: [],
    measureQueue: [],
    measuringSince: null,
    decisions: [],
    shuttingDown: false,
    supervisor: SAMPLE_SUPERVISOR,
    ...parts,
  };
}

/** A busy machine: two cards and the host, models in most states, a queue, and decisions with records. */
export function busySnapshot(): Snapshot {
  const ledger = [
    {
      device: 'CUDA0',
      totalBytes: 24 * GIB,
      heldBytes: 18.4 * GIB,
      reservedBytes: 0,
      externalBytes: 2 * GIB,
      freeBytes: 3.6 * GIB,
      marginBytes: GIB,
      availableBytes: 2.6 * GIB,
      needBytes: 12.6 * GIB,
      deficitBytes: 10 * GIB,
    },
  ].map((figures) =>
    Object.fromEntries(
      Object.entries(figures).map(([key, value]) => [key, typeof value === 'number' ? Math.round(value) : value]),
    ),
  ) as unknown as Decision['ledger'];
  return sampleSnapshot({
    devices: [
      sampleDevice('CUDA0', {
        externalBytes: 2 * GIB,
        segments: [
          { model: 'qwen3-32b', part: 'held', bytes: Math.round(11.2 * GIB) },
          { model: 'llama4-scout', part: 'reserved', bytes: Math.round(6.3 * GIB) },
        ],
      }),
      sampleDevice('CUDA1', {
        externalBytes: Math.round(0.4 * GIB),
        segments: [
          { model: 'phi-4', part: 'held', bytes: Math.round(7.9 * GIB) },
          { model: 'gemma-27b', part: 'releasing', bytes: 2 * GIB },
        ],
      }),
      sampleDevice('Host', { totalBytes: 64 * GIB, externalBytes: 9 * GIB }),
    ],
    models: [
      readyModel('qwen3-32b', Math.round(11.2 * GIB), { pinned: true, requests: 2 }),
      sampleModel('llama4-scout', {
        word: 'loading',
        generation: 2,
        pid: 4322,
        progress: 0.42,
        loadingSince: SAMPLE_TIME - 7_000,
        loadMillis: 15_000,
        claim: { CUDA0: Math.round(6.3 * GIB) },
        resident: { CUDA0: 3 * GIB },
      }),
      readyModel('phi-4', Math.round(7.9 * GIB), { devices: ['CUDA1'], contextTokens: 16_384 }),
      sampleModel('gemma-27b', { word: 'stopping', generation: 4, pid: 4323, devices: ['CUDA1'] }),
      sampleModel('mixtral-8x7b', {}),
      sampleModel('broken-70b', {
        word: 'failed',
        lastExit: {
          at: SAMPLE_TIME - 90_000,
          generation: 3,
          duringLoad: true,
          exitClass: 'out-of-memory',
          exitCode: 1,
          signal: null,
          reason: 'out of memory on CUDA0: asked for 5.1 GiB',
          device: 'CUDA0',
          lastLines: ['ggml_cuda: allocating 5222.4 MiB failed', 'failed to load model'],
        },
      }),
    ],
    queue: [
      sampleQueueEntry(1, 'mixtral-8x7b', { decision: 2 }),
      sampleQueueEntry(2, 'qwen3-32b', { why: 'waits for mixtral-8x7b', since: SAMPLE_TIME - 900 }),
    ],
    decisions: [
      sampleDecision(1, { sentence: 'qwen3-32b: loads on CUDA0, 11.2 GiB fit' }),
      sampleDecision(2, {
        kind: 'wait',
        model: 'mixtral-8x7b',
        sentence: 'mixtral-8x7b: needs 6.2 GiB more on CUDA0; qwen3-32b is busy (2), phi-4 is not on CUDA0',
        passedOver: [
          { model: 'qwen3-32b', reason: 'busy', requests: 2 },
          { model: 'phi-4', reason: 'not on this device', requests: 0 },
        ],
        ledger,
      }),
      sampleDecision(3, {
        kind: 'evict',
        model: 'gemma-27b',
        forModel: 'llama4-scout',
        plan: [{ model: 'gemma-27b', generation: 4, idleMillis: 312_000, givesBytes: { CUDA1: 2 * GIB } }],
        ledger,
        sentence: 'gemma-27b for llama4-scout: least recently used on CUDA0 (idle 5m12s), gives 15.8, short 8.1 GiB',
      }),
    ],
  });
}
