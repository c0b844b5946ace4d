import type { Decision } from '../scheduler/decisions.js';
import type { OperatorAction } from '../scheduler/events.js';
import type { OutOfMemoryReport } from '../scheduler/memory-history.js';
import type {
  QueueView,
  ModelView as SchedulerModelView,
  ReadDeviceView as SchedulerReadDeviceView,
  SchedulerSnapshot,
  UnreadDeviceView,
} from '../scheduler/snapshot.js';
import type { ExitReport as SchedulerExitReport } from '../scheduler/state.js';
import type { Millis, ModelId } from '../scheduler/units.js';

export type { Asker, Decision, DecisionKind, DeviceFigures, PassedOver, Victim } from '../scheduler/decisions.js';
export type { ForeignProcess, OperatorAction } from '../scheduler/events.js';
export type { MemoryChange, OutOfMemoryReport } from '../scheduler/memory-history.js';
export type { DeviceSegment, ModelWord, QueueView, UnreadDeviceView } from '../scheduler/snapshot.js';
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
  /** One beside each notice; absent: nobody tells. */
  readonly noticeMarks?: readonly NoticeMark[];
}

export interface NoticeMark {
  /** When it was said. */
  readonly at: Millis;
  /** True of what says that something is well again: no reason for alarm. */
  readonly over: boolean;
}

/** How a model's latest process ended, with the last lines of its log: those never enter the scheduler or its journal. */
export interface ExitReport extends SchedulerExitReport {
  readonly lastLines: readonly string[];
}

export interface ModelView extends Omit<SchedulerModelView, 'lastExit'> {
  readonly lastExit: ExitReport | null;
  /** Its section in a preset (`/etc/models.ini:3`), else its file; absent: nobody tells. */
  readonly origin?: string;
}

/** One device; of one that could never be read no figure is made up. */
export type DeviceView = ReadDeviceView | UnreadDeviceView;

export interface ReadDeviceView extends SchedulerReadDeviceView {
  /** How busy it is, 0..100; absent where nobody tells. Nothing is decided by it, so it is in no journal. */
  readonly utilizationPercent?: number;
}

/** A request for a model, without anything of what it asks. */
export interface RequestView {
  /** As decisions and the log of requests call it, e.g. `r17`. */
  readonly id: string;
  readonly model: ModelId;
  /** What it was sent to, e.g. `/v1/chat/completions`. */
  readonly kind: string;
  /** Who sent it: an address and port. Absent: nobody tells. */
  readonly client?: string;
  readonly since: Millis;
  /** For its model; false: it is being answered. */
  readonly waiting: boolean;
}

/** `GET /supervisor/state`, and the first message of `GET /supervisor/events`. */
export interface Snapshot extends Omit<SchedulerSnapshot, 'models' | 'devices'> {
  readonly schema: 1;
  /** `Host` last; one that comes to be read keeps its place. */
  readonly devices: readonly DeviceView[];
  /** In catalog order. */
  readonly models: readonly ModelView[];
  readonly supervisor: SupervisorInfo;
  /** Who waits and who is being answered, the oldest first and no more than some hundred. Absent: nobody tells. */
  readonly requests?: readonly RequestView[];
  /** How models came to run out of memory; the latest few, oldest first. Absent: nobody keeps account of it. */
  readonly outOfMemory?: readonly OutOfMemoryReport[];
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
  readonly requests?: readonly RequestView[];
  readonly measureQueue?: readonly ModelId[];
  readonly measuringSince?: Millis | null;
  readonly shuttingDown?: boolean;
  readonly outOfMemory?: readonly OutOfMemoryReport[];
}

export type ClientMessage =
  | { readonly type: 'snapshot'; readonly snapshot: Snapshot }
  | { readonly type: 'delta'; readonly delta: Delta }
  | { readonly type: 'decision'; readonly decision: Decision }
  /** Goes before the snapshot of that moment. */
  | { readonly type: 'position'; readonly position: RecordedPosition }
  /** The connection is lost; the client tries again by itself until it is closed. */
  | { readonly type: 'disconnected'; readonly reason: string }
  /** The process of the supervisor has ended; only whoever started it can know. */
  | { readonly type: 'ended'; readonly end: SupervisorEnd };

/** How the process of a supervisor has ended. */
export interface SupervisorEnd {
  readonly at: Millis;
  /** Null: it was ended by a signal. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** The file with everything that it has printed. */
  readonly log: string;
}

export type ActionResult = { readonly ok: true } | { readonly ok: false; readonly message: string };

/** What a reload of the models came to. */
export interface ReloadReport {
  readonly added: readonly ModelId[];
  /** Those that would be started differently now. */
  readonly changed: readonly ModelId[];
  readonly removed: readonly ModelId[];
  /** Sources that could not be taken and stay as they were, one sentence each. */
  readonly errors: readonly string[];
}

export type ReloadResult =
  { readonly ok: true; readonly report: ReloadReport } | { readonly ok: false; readonly message: string };

/** Something that not everything that can be looked at can do. */
export type Ability = OperatorAction | 'reload' | 'plan' | 'logs' | 'stop' | 'detach';

/** What is being looked at; a screen shows and offers no more than that has. */
export interface Source {
  /** A supervisor of ours, a llama-server router (which tells of models alone), or a recorded journal. */
  readonly kind: 'supervisor' | 'router' | 'replay';
  readonly can: ReadonlySet<Ability>;
}

/** What comes of following a log: the lines there are, then each as it comes, in bundles. */
export type LogMessage =
  /** Everything that was told before is void: these are the lines there are. */
  | { readonly type: 'start' }
  | { readonly type: 'lines'; readonly lines: readonly string[] }
  /** It cannot be read now; it is tried again. */
  | { readonly type: 'failed'; readonly message: string };

/** Where in a recording one is. */
export interface RecordedPosition {
  /** From 1; 0 is the state before the first decision. */
  readonly moment: number;
  readonly moments: number;
  readonly at: Millis;
  readonly playing: boolean;
  /** Earlier moments that are not kept. */
  readonly left: number;
}

/** Moving about in a recording; every move is told to the listeners as a snapshot. A moment is a turn that decided something. */
export interface Recording {
  step(by: number): void;
  /** Plays on in about the time that it took, or stands still. */
  togglePlaying(): void;
}

/** What loading a model now would do; nothing is changed by asking. */
export interface PlanView {
  readonly model: ModelId;
  readonly outcome: 'running' | 'fits' | 'proceeds' | 'evicts' | 'waits' | 'refused';
  readonly sentence: string;
  readonly decision: Decision | null;
}

/** One interface to a supervisor, whether by socket, by URL or from a recorded journal. */
export interface SupervisorClient {
  readonly source: Source;
  /** Null: what is looked at happens now. */
  readonly recording: Recording | null;
  /** Starts to listen; the first message is a snapshot. Returns the function that ends it. */
  subscribe(listener: (message: ClientMessage) => void): () => void;
  /** @param request with `cancel`: this one alone */
  act(action: OperatorAction, model: ModelId, request?: string): Promise<ActionResult>;
  /** Has the sources of models read again. */
  reload(): Promise<ReloadResult>;
  plan(model: ModelId): Promise<PlanView>;
  /** The last lines of a model's child, oldest first. */
  logs(model: ModelId): Promise<readonly string[]>;
  /** The same, and goes on; over restarts of the child and of the connection. Returns the function that ends it. */
  followLog(model: ModelId, listener: (message: LogMessage) => void): () => void;
  /** Stops every model, then the supervisor. */
  stopAll(): Promise<ActionResult>;
  /** Says that this screen leaves on purpose and everything else stays. */
  detach(): Promise<ActionResult>;
  close(): void;
}
