import type { Bytes, DeviceBytes, DeviceName, Millis, ModelId, RequestId } from './units.js';

export type DecisionKind =
  | 'admit'
  | 'backfill'
  | 'wait'
  | 'refuse'
  | 'evict'
  | 'drain'
  | 'stop'
  | 'release'
  | 'ready'
  | 'exit'
  | 'out-of-memory'
  | 'pin'
  | 'unpin'
  | 'wake'
  | 'measure'
  | 'notice';

/** Who asked for what was decided. */
export type Asker =
  | { readonly kind: 'request'; readonly request: RequestId }
  | { readonly kind: 'operator' }
  | { readonly kind: 'pin' }
  /** Its preset wants it loaded when the supervisor starts. */
  | { readonly kind: 'startup' }
  | { readonly kind: 'system' };

/** The ledger of one device at the moment of the decision; the first four parts add up to the total. */
export interface DeviceFigures {
  readonly device: DeviceName;
  readonly totalBytes: Bytes;
  readonly heldBytes: Bytes;
  readonly reservedBytes: Bytes;
  readonly externalBytes: Bytes;
  readonly freeBytes: Bytes;
  readonly marginBytes: Bytes;
  /** total − external − claims − margin; negative when overcommitted. */
  readonly availableBytes: number;
  readonly needBytes: Bytes;
  readonly deficitBytes: Bytes;
}

export interface Victim {
  readonly model: ModelId;
  readonly generation: number;
  /** 0 for one that is busy. */
  readonly idleMillis: Millis;
  /** Requests in flight, which end before it leaves; absent: none. */
  readonly requests?: number;
  readonly givesBytes: DeviceBytes;
}

export type PassReason =
  'busy' | 'pinned' | 'loading' | 'stopping' | 'wanted' | 'not on this device' | 'too young' | 'not needed';

export interface PassedOver {
  readonly model: ModelId;
  readonly reason: PassReason;
  /** Requests in flight, for `busy`. */
  readonly requests: number;
}

/** A record explains itself: nothing else has to be looked up to understand it. */
export interface Decision {
  readonly number: number;
  readonly at: Millis;
  readonly kind: DecisionKind;
  readonly model: ModelId;
  /** The model that the room is made for, where that is another one. */
  readonly forModel: ModelId | null;
  readonly asker: Asker;
  /** The devices that the decision concerns. */
  readonly ledger: readonly DeviceFigures[];
  readonly runningInstances: number;
  /** 0 means no limit. */
  readonly modelsMax: number;
  readonly plan: readonly Victim[];
  readonly passedOver: readonly PassedOver[];
  /** True when it was carried out although memory or count say no (`--admission proceed`). */
  readonly proceeded: boolean;
  /** The whole of it in one sentence, for people. */
  readonly sentence: string;
}
