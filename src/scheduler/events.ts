import type { DeviceKind, ExitClass, ModelSpec, Placement, Settings } from './state.js';
import type { Bytes, DeviceBytes, DeviceName, Millis, ModelId, RequestId } from './units.js';

/** What a probe says of one device. */
export interface DeviceReading {
  readonly name: DeviceName;
  readonly kind: DeviceKind;
  readonly description: string;
  readonly totalBytes: Bytes;
  readonly usedBytes: Bytes;
  /** True when the probe knows what each of our processes holds here. */
  readonly attributed: boolean;
  /** Who says so, e.g. `nvml`. */
  readonly source?: string;
  /** What limits these figures, in one sentence; absent when nothing does. */
  readonly remark?: string;
  /** The largest users that are not ours, largest first; a few at most. */
  readonly foreign?: readonly ForeignProcess[];
}

/** A process on a device that is none of ours. Its name is its own choice, without control characters. */
export interface ForeignProcess {
  readonly pid: number;
  /** Empty where it cannot be told. */
  readonly name: string;
  readonly bytes: Bytes;
}

/** A probe that could not be read: what it had said of these devices ages until it can. */
export interface ProbeFailure {
  /** Those that it served before, or that there must be by all signs; none where nothing speaks for any. */
  readonly devices: readonly DeviceName[];
  /** The driver's own words. */
  readonly message: string;
  /** True where no probe can be had for them at all: what children report of them counts. Absent: it may come back. */
  readonly lasting?: boolean;
}

/** Memory that a probe attributes to the process tree of one of our instances, or of a measuring child. */
export interface InstanceReading {
  readonly model: ModelId;
  /** Of an instance, from 1 on; or of a measuring child, from -1 down. */
  readonly generation: number;
  readonly resident: DeviceBytes;
}

/** What a child says of a device that no probe serves: the whole of it, and what it sees free. */
export interface DeviceReport {
  readonly name: DeviceName;
  readonly totalBytes: Bytes;
  readonly freeBytes: Bytes;
}

/** `withdraw` takes a `load` or `wake` back; what others want goes on. */
export type OperatorAction =
  | 'load'
  | 'withdraw'
  | 'unload'
  | 'kill'
  | 'pin'
  | 'unpin'
  | 'block'
  | 'unblock'
  | 'measure'
  | 'cancel'
  | 'park'
  | 'wake';

/** Everything that can happen. The time on an event is the only time that the scheduler knows. */
export type Event = { readonly at: Millis } & EventBody;

export type EventBody =
  | { readonly type: 'configured'; readonly settings: Settings }
  /** The whole catalog, at start and after each reload; `pins` are those the operator set. */
  | {
      readonly type: 'catalog';
      readonly models: readonly ModelSpec[];
      readonly pins: readonly ModelId[];
      /** Those to be loaded now, through admission like any other; only at start. */
      readonly startup?: readonly ModelId[];
    }
  | {
      readonly type: 'sample';
      /** When the probes were asked; what happened later may not show in the figures. */
      readonly takenAt: Millis;
      readonly devices: readonly DeviceReading[];
      readonly instances: readonly InstanceReading[];
      readonly failures?: readonly ProbeFailure[];
    }
  /** A client wants a lease; `model` is an id of the catalog (aliases are resolved before). */
  | { readonly type: 'request'; readonly request: RequestId; readonly model: ModelId; readonly autoload: boolean }
  /** The client has gone, or its response is complete: ends a wait and a lease alike. */
  | { readonly type: 'request-ended'; readonly request: RequestId; readonly model: ModelId }
  | { readonly type: 'spawned'; readonly model: ModelId; readonly generation: number; readonly pid: number }
  | {
      readonly type: 'progress';
      readonly model: ModelId;
      readonly generation: number;
      /** 0..1 */
      readonly value: number;
    }
  | {
      readonly type: 'ready';
      readonly model: ModelId;
      readonly generation: number;
      readonly contextTokens: number | null;
      /** What it allocated, where it says so. */
      readonly effective: DeviceBytes | null;
      /** Devices as it sees them, where it says so. */
      readonly reports?: readonly DeviceReport[];
    }
  /** It has left memory by itself, or its weights have been moved to the host. */
  | { readonly type: 'sleeping'; readonly model: ModelId; readonly generation: number }
  | { readonly type: 'parked'; readonly model: ModelId; readonly generation: number }
  | {
      readonly type: 'measured';
      readonly model: ModelId;
      /** What was measured; a result for other arguments than the present ones is ignored. */
      readonly fingerprint: string;
      /** Ways to lay it out as measured; null: it could not be measured. */
      readonly placements: readonly Placement[] | null;
      readonly reports?: readonly DeviceReport[];
      /** Why not, in one sentence; empty when it could. */
      readonly reason: string;
    }
  /** What was measured before, corrected by what has been learnt since of what a process takes besides its model. */
  | {
      readonly type: 'corrected';
      readonly model: ModelId;
      readonly fingerprint: string;
      readonly placements: readonly Placement[];
    }
  /** What the engine's program says of devices that no probe can be had for; no child of ours has allocated there. */
  | { readonly type: 'reported'; readonly reports: readonly DeviceReport[] }
  /** The operator sets the margin of one device. */
  | { readonly type: 'margin'; readonly device: DeviceName; readonly marginBytes: Bytes }
  | {
      readonly type: 'exited';
      readonly model: ModelId;
      readonly generation: number;
      readonly exitClass: ExitClass;
      readonly exitCode: number | null;
      readonly signal: string | null;
      readonly reason: string;
      /** Where memory ran out, and how much was asked for, when the log says so. */
      readonly device: DeviceName | null;
      readonly askedBytes: Bytes | null;
    }
  /** A child that loads has given no sign of life for so long: no output, no progress, no growth in memory. */
  | {
      readonly type: 'stalled';
      readonly model: ModelId;
      readonly generation: number;
      readonly silentMillis: Millis;
    }
  /**
   * A child at work has given no sign of life for so long: no answer on /health, no token, no CPU time used. Null: it
   * gives one again.
   */
  | {
      readonly type: 'hung';
      readonly model: ModelId;
      readonly generation: number;
      readonly silentMillis: Millis | null;
    }
  | {
      readonly type: 'operator';
      readonly action: OperatorAction;
      readonly model: ModelId;
      /** With `cancel`: this one alone. Absent: all of the model's. */
      readonly request?: RequestId;
    }
  | { readonly type: 'timer'; readonly timer: TimerName }
  | { readonly type: 'shutdown' };

/** Timers carry what they are for; one that comes late finds nothing to do. */
export type TimerName =
  | { readonly kind: 'retry'; readonly model: ModelId }
  | { readonly kind: 'release'; readonly model: ModelId; readonly generation: number }
  | { readonly kind: 'measure-limit'; readonly model: ModelId; readonly fingerprint: string; readonly since: Millis }
  | { readonly kind: 'queue-timeout'; readonly model: ModelId; readonly request: RequestId }
  | { readonly kind: 'min-residency'; readonly model: ModelId; readonly generation: number }
  /** `limitMillis` is the idle timeout that it was armed for: one that has been changed since has a timer of its own. */
  | {
      readonly kind: 'idle';
      readonly model: ModelId;
      readonly generation: number;
      readonly limitMillis: Millis;
    }
  | { readonly kind: 'drain'; readonly model: ModelId; readonly generation: number }
  /** `since`: when it was told to sleep. */
  | { readonly kind: 'park'; readonly model: ModelId; readonly generation: number; readonly since: Millis }
  | { readonly kind: 'max-wait'; readonly model: ModelId; readonly since: Millis };
