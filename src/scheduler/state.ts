import type { Decision } from './decisions.js';
import type { ForeignProcess } from './events.js';
import type { Bytes, DeviceBytes, DeviceName, Millis, ModelId, RequestId } from './units.js';

/** How a device relates to the rest of the machine's memory. */
export type DeviceKind = 'discrete' | 'unified' | 'remote' | 'host';

/** How well a claim is known, best first; the screen marks estimates. */
export type ClaimQuality = 'observed' | 'effective' | 'min' | 'estimate';

/** One way to lay a model out: what it needs on each device it would then use. */
export interface Placement {
  readonly need: DeviceBytes;
  readonly quality: ClaimQuality;
}

/** What the scheduler has to know of a catalog entry. Everything else about it stays in the catalog. */
export interface ModelSpec {
  readonly id: ModelId;
  readonly aliases: readonly string[];
  /** Ways to lay it out, preferred first; never empty for a valid model. */
  readonly placements: readonly Placement[];
  /** False when the child sizes its own context to the memory that it finds free. */
  readonly contextPinned: boolean;
  /** True when the child may shrink or split itself to fit; it is then loaded even where it cannot fit whole. */
  readonly fits: boolean;
  /** A model of lower priority is a victim before one of higher priority. */
  readonly priority: number;
  readonly pinned: boolean;
  readonly stopTimeoutMillis: Millis;
  /** Unloaded after so long without work; 0, or absent in older journals: never. */
  readonly idleTimeoutMillis?: Millis;
  /** Why it cannot be loaded at all (missing shard, truncated file, …), or null. */
  readonly invalid: string | null;
  /** Changes exactly when the child would be started differently. */
  readonly fingerprint: string;
  /** What earlier runs with this fingerprint have left on disk; null: nothing. */
  readonly known: KnownMemory | null;
  /**
   * What a child that measures it takes while it lives: a driver's context, though no buffer. Absent: nothing, or an older
   * journal.
   */
  readonly measureClaim?: DeviceBytes;
}

/** What is known of a model's memory from before, for one fingerprint and set of devices. */
export interface KnownMemory {
  /** Ways to lay it out as measured; null when it has not been measured. */
  readonly measured: readonly Placement[] | null;
  /** Highest bytes seen at work. */
  readonly observed: DeviceBytes | null;
  /** Bytes last seen while it slept, or was parked. Absent: nothing, or an older journal. */
  readonly rested?: DeviceBytes | null;
  /** How long its latest load took. */
  readonly loadMillis: Millis | null;
}

export type MeasureWord = 'unmeasured' | 'measuring' | 'measured' | 'failed';

/** Who leaves first; see policies.ts. */
export type PolicyName = 'lru' | 'lru-any-device' | 'cost';

export type AdmissionMode = 'wait' | 'refuse' | 'proceed';

/** What tells a policy and a limit apart from a branch: plain values, set at start. */
export interface Settings {
  /** Running instances at most, stopping ones included; 0 means no limit. */
  readonly modelsMax: number;
  /** Bytes kept free on a device that has no margin of its own. */
  readonly marginBytes: Bytes;
  /** For system memory; null: the same margin on a machine with no other device, else 0. */
  readonly hostMarginBytes: Bytes | null;
  readonly policy: PolicyName;
  /** What becomes of a model that would have to wait: it waits, is refused, or is loaded with a warning. */
  readonly admission: AdmissionMode;
  /** A younger instance is no victim, unless the waiter has waited longer than `maxWaitMillis`. */
  readonly minResidencyMillis: Millis;
  /** A waiting head may make a busy victim take no new requests after this long. */
  readonly maxWaitMillis: Millis;
  /** Waiters at most over all models. */
  readonly queueMax: number;
  /** A request waits this long at most; 0 means no limit. */
  readonly queueTimeoutMillis: Millis;
  /** True when the engine's children can measure what a model needs without allocating it. */
  readonly measures: boolean;
  /** True when they leave memory when they are told to. Absent in older journals: they do not. */
  readonly parks?: boolean;
  /** A measuring child that takes longer is stopped, and its model counts as failed to measure. */
  readonly measureLimitMillis: Millis;
  /** True when an instance that is hung is killed, not only reported. */
  readonly killHung: boolean;
  /** How long an exited instance's memory may take to come back before it is written off. */
  readonly releaseLimitMillis: Millis;
}

/** The last thing a probe said of a device. */
export interface DeviceSample {
  readonly takenAt: Millis;
  readonly usedBytes: Bytes;
  /** True when the probe can say which process holds what; unknown is not zero. */
  readonly attributed: boolean;
}

export interface Device {
  readonly name: DeviceName;
  readonly kind: DeviceKind;
  readonly description: string;
  readonly totalBytes: Bytes;
  readonly marginBytes: Bytes;
  /** True when the operator has set the margin: it stays then. */
  readonly marginSet: boolean;
  /** Used by anything that is not ours. */
  readonly externalBytes: Bytes;
  /** Null until a probe has sampled it; a device known from child reports only never is. */
  readonly sample: DeviceSample | null;
  /** Who sampled it; empty for nobody. */
  readonly source: string;
  /** What limits the figures of the sample; empty when nothing does. */
  readonly remark: string;
  /** The largest users that are not ours, largest first. */
  readonly foreign: readonly ForeignProcess[];
  /** Why it cannot be sampled now, in its driver's own words; the sample ages meanwhile. Null: it can. */
  readonly problem: string | null;
  /** Since when; null: it can be sampled. */
  readonly problemSince: Millis | null;
  /** The most that others have left of it of late, and when last. Absent in older journals. */
  readonly recentRoom?: { readonly bytes: Bytes; readonly at: Millis };
}

/** A device that there must be by all signs, but that could never be read: its size is unknown, and it has no ledger. */
export interface UnreadDevice {
  /** In its driver's own words. */
  readonly problem: string;
  readonly problemSince: Millis;
  /** True where no probe can be had for it at all. */
  readonly lasting: boolean;
}

export type InstancePhase = 'loading' | 'ready' | 'sleeping' | 'parked' | 'stopping';

/** Why an instance is, or was, stopped. */
export type StopReason =
  | { readonly kind: 'operator'; readonly action: 'unload' | 'kill' }
  | { readonly kind: 'evicted'; readonly by: ModelId; readonly decision: number }
  | { readonly kind: 'idle' }
  | { readonly kind: 'catalog'; readonly change: 'removed' | 'changed' }
  | { readonly kind: 'shutdown' }
  | Silence;

/** Why an instance was stopped that had given no sign of life for so long; that is a failure. */
export interface Silence {
  /** While it was loading, or while it was at work. */
  readonly kind: 'stalled' | 'hung';
  readonly silentMillis: Millis;
}

/** One child process serving one model. Its generation is never used again. */
export interface Instance {
  readonly generation: number;
  readonly phase: InstancePhase;
  readonly pid: number | null;
  readonly spawnedAt: Millis;
  readonly readyAt: Millis | null;
  /** When it last came back from rest; absent while it never has. */
  readonly wokeAt?: Millis;
  /** End of the latest work, or readiness when there was none. Observing a model never moves it. */
  readonly lastUsedAt: Millis;
  /** 0..1 while loading, where the child says so. */
  readonly progress: number | null;
  readonly contextTokens: number | null;
  readonly claim: DeviceBytes;
  readonly claimQuality: ClaimQuality;
  /** What it claims when it is awake; equals `claim` unless it sleeps or is parked. */
  readonly awakeClaim: DeviceBytes;
  /** What a decision has last said that it holds, and when; absent: it was not up yet. */
  readonly told?: { readonly at: Millis; readonly claim: DeviceBytes };
  /** When it went to sleep or was parked; null while awake. */
  readonly restingSince: Millis | null;
  /** What a probe attributes to the process tree; a device that is not named is unknown, not zero. */
  readonly resident: DeviceBytes;
  readonly leases: readonly RequestId[];
  /** Since when it has given no sign of life, although it is at work; null: all is well. */
  readonly hungSince: Millis | null;
  /** True when it was loaded although it did not fit: `--admission proceed`, or alone and left to its own fitting. */
  readonly beyondLimits: boolean;
  /** Takes no new lease: it leaves once its current ones have ended. */
  readonly draining: StopReason | null;
  /** When its requests have had their time; null: they may take all they need. Only while it drains. */
  readonly drainingUntil: Millis | null;
  readonly stopReason: StopReason | null;
  readonly fingerprint: string;
}

/** What a child's exit was, told from its exit code, signal and last output. */
export type ExitClass =
  | 'stopped'
  | 'out-of-memory'
  | 'bad-arguments'
  | 'unreadable-model'
  | 'port-in-use'
  | 'stalled'
  | 'hung'
  | 'killed'
  | 'crashed';

/** How the latest instance of a model ended. */
export interface ExitReport {
  readonly at: Millis;
  readonly generation: number;
  readonly duringLoad: boolean;
  readonly exitClass: ExitClass;
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** One sentence for people, e.g. `out of memory on CUDA0: asked for 5.1 GiB`. */
  readonly reason: string;
  readonly device: DeviceName | null;
}

export interface Model {
  readonly spec: ModelSpec;
  /** Null when nothing runs for it. At most one: stopping ones included. */
  readonly instance: Instance | null;
  /** Pinned by the catalog or the operator: never a victim, loaded at start and after a crash. */
  readonly pinned: boolean;
  readonly blocked: boolean;
  /** Why it does not run; null when it never has. */
  readonly lastStop: StopReason | null;
  readonly lastExit: ExitReport | null;
  /** Failures in a row; reset by success or by the operator. */
  readonly failures: number;
  /** Loads in a row that found their port taken. */
  readonly portsLost: number;
  /** Not loaded again before this time. */
  readonly retryAt: Millis;
  /** Highest bytes seen at work in a run with the same fingerprint. */
  readonly observed: DeviceBytes | null;
  /** Bytes last seen while it slept, or was parked, in a run with the same fingerprint. Absent in older journals. */
  readonly rested?: DeviceBytes | null;
  /** What it was found to need on top of what is known, by running out of memory or by sight; until seen at work. */
  readonly raised: DeviceBytes | null;
  readonly measure: MeasureWord;
  /** Ways to lay it out as measured; they replace the estimates. */
  readonly measured: readonly Placement[] | null;
  /** A measurement that failed is tried again after the next load, or before it when an estimate was too large; null: never. */
  readonly measureAgain: 'after-load' | 'before-load' | null;
  readonly failedMeasurements: number;
  /** How long its latest load took; the source of ETA and Retry-After. */
  readonly loadMillis: Millis | null;
  /** True once the catalog no longer has it; it goes when its instance has gone. */
  readonly removed: boolean;
}

export interface Waiter {
  readonly request: RequestId;
  readonly since: Millis;
}

/** All who wait for one model; they share its one load. */
export interface QueueEntry {
  readonly model: ModelId;
  readonly since: Millis;
  readonly waiters: readonly Waiter[];
  /** The operator, a pin or its preset (at start) wants it loaded, with or without waiters. */
  readonly wanted: 'operator' | 'pin' | 'startup' | null;
  /** How often an entry behind this one went first. */
  readonly bypassed: number;
  /** Number of the decision that says why it still waits; 0 before the first. */
  readonly decision: number;
  /** Why it waits, in a form that tells "same reason as before". */
  readonly waitKey: string;
  /** Why it waits, in one sentence. */
  readonly why: string;
  /** Set when victims are already leaving for it: what is set aside, where. */
  readonly setAside: DeviceBytes | null;
}

/** Memory of an instance that has exited, not yet seen to be back. */
export interface Release {
  readonly model: ModelId;
  readonly generation: number;
  readonly pid: number | null;
  readonly exitedAt: Millis;
  readonly held: DeviceBytes;
  readonly resident: DeviceBytes;
  /** What each device had in use just before the exit; for probes without attribution. */
  readonly usedBefore: DeviceBytes;
}

/** The child that measures; no two live at once. */
export interface Measuring {
  readonly model: ModelId;
  /** From -1 down, each used once, so that what one leaves behind is never taken for another's. Absent in older journals. */
  readonly generation?: number;
  readonly fingerprint: string;
  readonly since: Millis;
  /** What it takes where it measures, or was seen to hold there if that is more. Absent in older journals. */
  readonly claim?: DeviceBytes;
}

/** Plain JSON data: no Map, class, function or Date. */
export interface State {
  readonly now: Millis;
  readonly settings: Settings;
  readonly devices: Readonly<Record<DeviceName, Device>>;
  /** By name; absent: none. */
  readonly unread?: Readonly<Record<DeviceName, UnreadDevice>>;
  readonly models: Readonly<Record<ModelId, Model>>;
  /** Catalog order; object keys would put ids that look like numbers first. */
  readonly modelOrder: readonly ModelId[];
  /** Models that have an instance, oldest generation first, so that nobody has to look through the whole catalog. */
  readonly running: readonly ModelId[];
  readonly queue: readonly QueueEntry[];
  readonly releases: readonly Release[];
  /** Models to be measured, in order, without the one that is being measured. */
  readonly measureQueue: readonly ModelId[];
  readonly measuring: Measuring | null;
  /** How many children have begun to measure. Absent in older journals. */
  readonly measurings?: number;
  readonly nextGeneration: number;
  readonly nextDecision: number;
  /** The latest decisions, oldest first, bounded. */
  readonly decisions: readonly Decision[];
  /** Whether the devices are being watched closely, because something is under way. */
  readonly watchingClosely: boolean;
  readonly shuttingDown: boolean;
}
