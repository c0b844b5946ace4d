import type { Decision } from '../scheduler/decisions.js';
import type { OperatorAction } from '../scheduler/events.js';
import type {
  DeviceView as SchedulerDeviceView,
  QueueView,
  ModelView as SchedulerModelView,
  SchedulerSnapshot,
} from '../scheduler/snapshot.js';
import type { ExitReport as SchedulerExitReport } from '../scheduler/state.js';
import type { Millis, ModelId } from '../scheduler/units.js';

export type { Asker, Decision, DecisionKind, DeviceFigures, PassedOver, Victim } from '../scheduler/decisions.js';
export type { ForeignProcess, OperatorAction } from '../scheduler/events.js';
export type { DeviceSegment, ModelWord, QueueView } from '../scheduler/snapshot.js';
export type { StopReason } from '../scheduler/state.js';
export type { Bytes, DeviceBytes, DeviceName, Millis, ModelId } from '../scheduler/units.js';

/** Facts of the supervisor itself; they hardly ever change. */
export interface SupervisorInfo {
  readonly version: string;
  readonly pid: number;
  readonly startedAt: number;
  /** Where the HTTP router listens, e.g. `http://127.0.0.1:8080`. */
  readonly url: string;
  readonly host: string;
  readonly engine: { readonly name: string; readonly reason: string; readonly simulated: boolean };
  /** Stands for the flags that it was started with. */
  readonly startedWith: string;
  /** Where models were looked for, for the empty state. */
  readonly sources: readonly string[];
  /** What the user should know: catalog surprises, probe errors, an open bind without a key. Newest last. */
  readonly notices: readonly string[];
}

/** How a model's latest process ended, with the last lines of its log: those never enter the scheduler or its journal. */
export interface ExitReport extends SchedulerExitReport {
  readonly lastLines: readonly string[];
}

export interface ModelView extends Omit<SchedulerModelView, 'lastExit'> {
  readonly lastExit: ExitReport | null;
}

export interface DeviceView extends SchedulerDeviceView {
  /** How busy it is, 0..100; absent where nobody tells. Nothing is decided by it, so it is in no journal. */
  readonly utilizationPercent?: number;
}

/** `GET /supervisor/state`, and the first message of `GET /supervisor/events`. */
export interface Snapshot extends Omit<SchedulerSnapshot, 'models' | 'devices'> {
  readonly schema: 1;
  /** In the order in which the devices were first reported, `Host` last. */
  readonly devices: readonly DeviceView[];
  /** In catalog order. */
  readonly models: readonly ModelView[];
  readonly supervisor: SupervisorInfo;
}

/** What changed since the message before; what is absent did not change. */
export interface Delta {
  readonly at: number;
  readonly supervisor?: SupervisorInfo;
  readonly devices?: readonly DeviceView[];
  /** The changed models only. */
  readonly models?: readonly ModelView[];
  /** Catalog order; present when models came, went or moved. */
  readonly modelOrder?: readonly ModelId[];
  readonly queue?: readonly QueueView[];
  readonly measureQueue?: readonly ModelId[];
  readonly measuringSince?: Millis | null;
  readonly shuttingDown?: boolean;
}

export type ClientMessage =
  | { readonly type: 'snapshot'; readonly snapshot: Snapshot }
  | { readonly type: 'delta'; readonly delta: Delta }
  | { readonly type: 'decision'; readonly decision: Decision }
  /** The connection is lost; the client tries again by itself until it is closed. */
  | { readonly type: 'disconnected'; readonly reason: string };

export type ActionResult = { readonly ok: true } | { readonly ok: false; readonly message: string };

/** What loading a model now would do; nothing is changed by asking. */
export interface PlanView {
  readonly model: ModelId;
  readonly outcome: 'running' | 'fits' | 'proceeds' | 'evicts' | 'waits' | 'refused';
  readonly sentence: string;
  readonly decision: Decision | null;
}

/** One interface to a supervisor, whether by socket, by URL or from a recorded journal. */
export interface SupervisorClient {
  /** Starts to listen; the first message is a snapshot. Returns the function that ends it. */
  subscribe(listener: (message: ClientMessage) => void): () => void;
  act(action: OperatorAction, model: ModelId): Promise<ActionResult>;
  plan(model: ModelId): Promise<PlanView>;
  /** The last lines of a model's child, oldest first. */
  logs(model: ModelId): Promise<readonly string[]>;
  /** Stops every model, then the supervisor. */
  stopAll(): Promise<ActionResult>;
  /** Says that this screen leaves on purpose and everything else stays. */
  detach(): Promise<ActionResult>;
  close(): void;
}
