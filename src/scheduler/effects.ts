import type { TimerName } from './events.js';
import type { DeviceBytes, DeviceName, Millis, ModelId, RequestId } from './units.js';

/** What the supervisor has to do. Results come back as events of the same (model, generation). */
export type Effect =
  | {
      readonly type: 'spawn';
      readonly model: ModelId;
      readonly generation: number;
      /** The devices to use, when the model may be laid out in several ways; else null. */
      readonly devices: readonly DeviceName[] | null;
    }
  | {
      readonly type: 'stop';
      readonly model: ModelId;
      readonly generation: number;
      /** A child that is still loading does not read its messages: it has to be signalled. */
      readonly loading: boolean;
      /** After this long the process group is killed; 0 kills at once. */
      readonly timeoutMillis: Millis;
    }
  /** End the requests that an instance still answers: it is about to stop, and they have had their time. */
  | { readonly type: 'hang-up'; readonly model: ModelId; readonly generation: number }
  | { readonly type: 'grant'; readonly request: RequestId; readonly model: ModelId; readonly generation: number }
  | {
      readonly type: 'reject';
      readonly request: RequestId;
      readonly model: ModelId;
      readonly status: number;
      /** For programs: `model_not_loaded`, `pinned_models_in_the_way`, … */
      readonly code: string;
      readonly message: string;
      readonly retryAfterSeconds: number | null;
      /** Number of the decision record; 0 when there is none. */
      readonly decision: number;
    }
  /** End one request that an instance answers; `request-ended` answers, as always. */
  | { readonly type: 'cut-off'; readonly request: RequestId; readonly model: ModelId; readonly generation: number }
  | { readonly type: 'arm-timer'; readonly at: Millis; readonly timer: TimerName }
  /** A transition is under way (or has ended): how closely to watch the devices. */
  | { readonly type: 'watch-devices'; readonly closely: boolean }
  /** Memory may have come back just now: the next sample is wanted at once. */
  | { readonly type: 'look-at-devices' }
  /** Bring a sleeping or parked instance back; its room is reserved. `ready` of the same generation answers. */
  | { readonly type: 'wake'; readonly model: ModelId; readonly generation: number }
  /** Ask an idle instance to leave memory now; `sleeping` or `parked` of the same generation answers, if it does. */
  | { readonly type: 'park'; readonly model: ModelId; readonly generation: number }
  /** Find out what a model needs, without allocating it; `measured` answers. */
  | {
      readonly type: 'measure';
      readonly model: ModelId;
      readonly fingerprint: string;
      /** By which readings name the child. */
      readonly generation: number;
    }
  | { readonly type: 'cancel-measure'; readonly model: ModelId; readonly fingerprint: string }
  /** What was learnt of a model, to be kept over restarts. */
  | {
      readonly type: 'remember';
      readonly model: ModelId;
      readonly fingerprint: string;
      readonly observed: DeviceBytes | null;
      /** What it was last seen to hold at rest; absent: it never was. */
      readonly rested?: DeviceBytes;
      readonly loadMillis: Millis | null;
    }
  | { readonly type: 'save-pins'; readonly pins: readonly ModelId[] };
