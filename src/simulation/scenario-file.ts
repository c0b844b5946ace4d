import type { OperatorAction } from '../scheduler/events.js';
import type { AdmissionMode, DeviceKind, PolicyName } from '../scheduler/state.js';
import type { Bytes, DeviceBytes, DeviceName, Millis, ModelId } from '../scheduler/units.js';

/** A scenario file as it is written, with its defaults filled in, times in milliseconds and memory in bytes. */
export interface ScenarioFile {
  /** One sentence that says what it shows. */
  readonly about: string;
  /** Requests come for so long; what they began is played to its end. */
  readonly lasts: Millis;
  readonly settings: FileSettings;
  /** How often the devices are looked at, while something is under way and at rest, and how old a look is at most. */
  readonly watch: { readonly close: Millis; readonly rest: Millis; readonly lag: Millis };
  readonly devices: Readonly<Record<DeviceName, FileDevice>>;
  readonly models: Readonly<Record<ModelId, FileModel>>;
  readonly requests: readonly FileRequests[];
  readonly happenings: readonly FileHappening[];
  /** How often each thing goes wrong, 0..1, each time that it could. */
  readonly faults: Readonly<Partial<Record<string, number>>>;
}

export interface FileSettings {
  readonly policy: PolicyName;
  readonly admission: AdmissionMode;
  readonly 'models-max': number;
  readonly margin: Bytes;
  readonly 'host-margin': Bytes | null;
  readonly 'max-wait': Millis;
  readonly 'min-residency': Millis;
  readonly 'queue-max': number;
  readonly 'queue-timeout': Millis;
  readonly 'release-limit': Millis;
  readonly measure: boolean;
}

export interface FileDevice {
  readonly total: Bytes;
  readonly kind?: DeviceKind | undefined;
  /** In use by other programs from the start. */
  readonly foreign: Bytes;
  /** `attributed`: processes can be told apart; `total`: they cannot; `none`: known from what children say only. */
  readonly probe: 'attributed' | 'total' | 'none';
  readonly 'shows-after': Millis;
  readonly 'releases-after': Millis;
}

export interface FileModel {
  /** What it truly takes: one way to lay it out, or several to choose from, preferred first. */
  readonly needs: readonly DeviceBytes[];
  /** What is expected of it beforehand; the same as it needs where nothing is said. */
  readonly expects?: readonly DeviceBytes[] | undefined;
  /** What it takes on top when it first works. */
  readonly grows: DeviceBytes;
  readonly load: Millis;
  readonly exit: Millis;
  readonly 'stop-timeout': Millis;
  readonly 'tokens-per-second': number;
  /** `open`: it sizes its own context to the memory that it finds free. */
  readonly context: 'pinned' | 'open';
  readonly fits: boolean;
  readonly priority: number;
  readonly pinned: boolean;
  readonly 'says-what-it-took': boolean;
  readonly measure: Millis;
  readonly rest: {
    readonly as: 'sleeping' | 'parked';
    readonly after: Millis;
    readonly keeps: number;
    readonly wake: Millis;
  } | null;
}

/** Requests: at certain times, or again and again; the models in turn where there are several. */
export interface FileRequests {
  readonly models: readonly ModelId[];
  readonly at?: readonly Millis[] | undefined;
  readonly every?: Millis | undefined;
  /** On average, at random. */
  readonly 'about-every'?: Millis | undefined;
  readonly from: Millis;
  readonly until?: Millis | undefined;
  /** How long an answer takes; or how many tokens it has. */
  readonly hold?: Millis | undefined;
  readonly tokens?: number | undefined;
  /** The client goes after this long, served or not. */
  readonly leaves: Millis | null;
}

export type FileHappening = { readonly at: Millis } & (
  | { readonly operator: OperatorAction; readonly model: ModelId }
  | { readonly crash: ModelId }
  | { readonly margin: Bytes; readonly device: DeviceName }
  | { readonly grows: Bytes; readonly device: DeviceName; readonly over: Millis }
  | { readonly shrinks: Bytes; readonly device: DeviceName; readonly over: Millis }
);
