import type { OperatorAction } from '../scheduler/events.js';
import type { DeviceKind, ModelSpec, Settings } from '../scheduler/state.js';
import type { Bytes, DeviceBytes, DeviceName, Millis, ModelId } from '../scheduler/units.js';

/** A whole world in plain data: the same one plays the same every time. Points in time count from its beginning. */
export interface WorldConfig {
  readonly seed: number;
  readonly settings: Settings;
  readonly devices: readonly SimDevice[];
  readonly models: readonly SimModel[];
  readonly arrivals: readonly Arrival[];
  readonly happenings: readonly Happening[];
  readonly faults: Faults;
  readonly watch: Watch;
  /** From here on nothing goes wrong any more. */
  readonly quietAt: Millis;
  /** The world ends here at the latest, whatever still waits. */
  readonly endsAt: Millis;
  /** Every delay is a multiple of it: the larger, the more happens in one instant. */
  readonly gridMillis: Millis;
  /** True: what happens in one instant happens in an order drawn by the seed. */
  readonly permutes: boolean;
}

export interface SimDevice {
  readonly name: DeviceName;
  readonly kind: DeviceKind;
  readonly totalBytes: Bytes;
  /** In use by other programs from the start. */
  readonly foreignBytes: Bytes;
  /** `none`: it is known from what children say only; `total`: nobody can say whose memory is whose. */
  readonly probe: 'attributed' | 'total' | 'none';
  /** How long an allocation takes to show in the figures. */
  readonly showsAfterMillis: Millis;
  /** How long the memory of a dead process takes to come back. */
  readonly releasesAfterMillis: Millis;
}

export interface SimModel {
  readonly spec: ModelSpec;
  /** What it truly allocates, for each of the placements of its spec. */
  readonly needs: readonly DeviceBytes[];
  /** What it allocates on top when it first works. */
  readonly grows: DeviceBytes;
  readonly loadMillis: Millis;
  readonly exitMillis: Millis;
  /** Says what it allocated when it is ready. */
  readonly saysEffective: boolean;
  /** Leaves memory by itself when idle, all but a share of it; null: never. */
  readonly rest: SimRest | null;
  readonly measure: SimMeasure;
}

export interface SimMeasure {
  readonly millis: Millis;
  /** Its result in relation to the true need. */
  readonly ratio: number;
  /** What the child that measures holds while it lives; without room for it, it finds out nothing. */
  readonly takes: DeviceBytes;
}

export interface SimRest {
  readonly as: 'sleeping' | 'parked';
  readonly afterMillis: Millis;
  readonly keepsShare: number;
  readonly wakeMillis: Millis;
}

/** A client that comes once. */
export interface Arrival {
  readonly at: Millis;
  readonly model: ModelId;
  /** How long its request is answered. */
  readonly holdMillis: Millis;
  /** After this long it goes, served or not; null: it has all the time in the world. */
  readonly leavesAfterMillis: Millis | null;
  readonly autoload: boolean;
}

export type Happening = { readonly at: Millis } & (
  | { readonly type: 'operator'; readonly action: OperatorAction; readonly model: ModelId }
  | { readonly type: 'margin'; readonly device: DeviceName; readonly marginBytes: Bytes }
  | { readonly type: 'settings'; readonly settings: Settings }
  /** The catalog is read again and is this now. */
  | { readonly type: 'reload'; readonly models: readonly SimModel[] }
  /** Other programs take so much more, or give it back. */
  | { readonly type: 'foreign'; readonly device: DeviceName; readonly bytes: number; readonly overMillis: Millis }
  | { readonly type: 'clock-jump'; readonly byMillis: number }
  | { readonly type: 'crash'; readonly model: ModelId }
  | { readonly type: 'shutdown' }
);

export interface Watch {
  readonly closeMillis: Millis;
  readonly restMillis: Millis;
  /** A sample is this much older than its delivery at most. */
  readonly lagMillis: Millis;
}

/** How often each thing goes wrong, 0..1, each time that it could. */
export interface Faults {
  readonly spawnFails: number;
  readonly portTaken: number;
  readonly crashLoading: number;
  readonly crashServing: number;
  readonly crashResting: number;
  readonly crashStopping: number;
  readonly ignoresStop: number;
  readonly slowLoad: number;
  /** A load goes on no more, and after a while that is noticed. */
  readonly stallsLoading: number;
  /** A child at work does nothing more, and is noticed; it may come to life again. */
  readonly hangs: number;
  readonly saysTwice: number;
  readonly saysLate: number;
  readonly saysAbsurd: number;
  readonly wakesItself: number;
  readonly exitSaidTwice: number;
  readonly speaksAfterExit: number;
  readonly sampleLost: number;
  readonly sampleLate: number;
  readonly sampleAbsurd: number;
  readonly residencyLost: number;
  readonly timerLate: number;
  readonly timerStale: number;
  readonly measureFails: number;
  readonly measureAbsurd: number;
  readonly measureSilent: number;
  readonly endedTwice: number;
}

export const NO_FAULTS: Faults = {
  spawnFails: 0,
  portTaken: 0,
  crashLoading: 0,
  crashServing: 0,
  crashResting: 0,
  crashStopping: 0,
  ignoresStop: 0,
  slowLoad: 0,
  stallsLoading: 0,
  hangs: 0,
  saysTwice: 0,
  saysLate: 0,
  saysAbsurd: 0,
  wakesItself: 0,
  exitSaidTwice: 0,
  speaksAfterExit: 0,
  sampleLost: 0,
  sampleLate: 0,
  sampleAbsurd: 0,
  residencyLost: 0,
  timerLate: 0,
  timerStale: 0,
  measureFails: 0,
  measureAbsurd: 0,
  measureSilent: 0,
  endedTwice: 0,
};
