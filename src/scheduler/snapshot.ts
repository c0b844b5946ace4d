import type { Decision } from './decisions.js';
import type { ForeignProcess } from './events.js';
import type { ClaimQuality, DeviceKind, ExitReport, MeasureWord, StopReason } from './state.js';
import type { Bytes, DeviceBytes, DeviceName, Millis, ModelId } from './units.js';

/** State words as the screen says them (in upper case). */
export type ModelWord = 'unloaded' | 'loading' | 'ready' | 'sleeping' | 'parked' | 'stopping' | 'failed' | 'invalid';

/** One model's part of a device. `releasing` counts as held: its process is gone, its memory not yet back. */
export interface DeviceSegment {
  readonly model: ModelId;
  readonly part: 'held' | 'reserved' | 'releasing';
  readonly bytes: Bytes;
}

/** One device; of one that could never be read no figure is made up. */
export type DeviceView = ReadDeviceView | UnreadDeviceView;

/** The ledger of one device: held + reserved + external + free = total, always. */
export interface ReadDeviceView {
  readonly name: DeviceName;
  readonly kind: DeviceKind;
  readonly description: string;
  readonly totalBytes: Bytes;
  readonly heldBytes: Bytes;
  readonly reservedBytes: Bytes;
  readonly externalBytes: Bytes;
  readonly freeBytes: Bytes;
  /** Part of `heldBytes`. */
  readonly releasingBytes: Bytes;
  /** By how much claims and external exceed the total; 0 when they do not. */
  readonly overcommitBytes: Bytes;
  readonly marginBytes: Bytes;
  /** When the latest sample was taken; null: nobody has reported this device. */
  readonly sampledAt: Millis | null;
  readonly attributed: boolean;
  /** Who says so, e.g. `nvml`; empty when no probe does. */
  readonly source: string;
  /** What limits these figures, in one sentence; empty when nothing does. */
  readonly remark: string;
  /** The largest users that are not ours, largest first; a few at most. Their names are their own choice. */
  readonly foreign: readonly ForeignProcess[];
  /** Why it cannot be sampled now, in its driver's own words; null when it can. */
  readonly problem: string | null;
  /** Since when; null when it can. */
  readonly problemSince: Millis | null;
  /** Catalog order; bytes add up to held + reserved (before any overcommit is cut off). */
  readonly segments: readonly DeviceSegment[];
}

/** A device that there must be by all signs, but that could never be read: nothing is known of it but its name. */
export interface UnreadDeviceView {
  readonly name: DeviceName;
  readonly kind: null;
  readonly description: '';
  readonly totalBytes: null;
  readonly heldBytes: null;
  readonly reservedBytes: null;
  readonly externalBytes: null;
  readonly freeBytes: null;
  readonly releasingBytes: null;
  readonly overcommitBytes: null;
  readonly marginBytes: null;
  readonly sampledAt: null;
  readonly attributed: false;
  readonly source: '';
  readonly remark: '';
  readonly foreign: readonly [];
  /** Why not, in its driver's own words. */
  readonly problem: string;
  readonly problemSince: Millis;
  /** What models claim there, which were loaded all the same: `--admission proceed`, or memory limits nothing. */
  readonly segments: readonly DeviceSegment[];
}

export interface ModelView {
  readonly id: ModelId;
  readonly aliases: readonly string[];
  readonly word: ModelWord;
  readonly pinned: boolean;
  readonly blocked: boolean;
  /** Why it cannot be loaded at all, or null. */
  readonly invalid: string | null;
  /** Devices it runs on, or would be loaded on. */
  readonly devices: readonly DeviceName[];
  readonly claim: DeviceBytes;
  readonly claimQuality: ClaimQuality;
  /** What was measured and seen of its need. */
  readonly memory: {
    readonly status: MeasureWord;
    readonly measured: DeviceBytes | null;
    readonly observed: DeviceBytes | null;
  };
  /** What probes see it hold; a device that is not named is unknown. */
  readonly resident: DeviceBytes;
  readonly contextTokens: number | null;
  readonly generation: number | null;
  readonly pid: number | null;
  /** Requests in flight. */
  readonly requests: number;
  /** End of its latest work; null while nothing runs. */
  readonly lastUsedAt: Millis | null;
  readonly loadingSince: Millis | null;
  readonly progress: number | null;
  /** How long its latest load took; ETA = loadingSince + loadMillis. */
  readonly loadMillis: Millis | null;
  readonly draining: boolean;
  /** Since when it has given no sign of life, although it is at work: no answer, no token, no CPU time. */
  readonly hungSince: Millis | null;
  /** Why it leaves, or is about to; else why its latest instance was stopped, or null. */
  readonly lastStop: StopReason | null;
  readonly lastExit: ExitReport | null;
}

export interface QueueView {
  readonly position: number;
  readonly model: ModelId;
  readonly since: Millis;
  readonly waiters: number;
  readonly wantedBy: 'requests' | 'operator' | 'pin' | 'startup';
  /** One sentence. */
  readonly why: string;
  readonly decision: number;
}

/** What is known of the whole scheduler at one moment; everything in it is plain JSON. */
export interface SchedulerSnapshot {
  readonly at: Millis;
  readonly modelsMax: number;
  /** As `inDeviceOrder` has them; one that comes to be read keeps its place. */
  readonly devices: readonly DeviceView[];
  /** In catalog order. */
  readonly models: readonly ModelView[];
  readonly queue: readonly QueueView[];
  /** The one that is being measured first, if any. */
  readonly measureQueue: readonly ModelId[];
  /** Null: none is being measured. */
  readonly measuringSince: Millis | null;
  /** The latest, oldest first. */
  readonly decisions: readonly Decision[];
  readonly shuttingDown: boolean;
}
