import type { CatalogEntry } from '../catalog/entry.js';
import type { OptionTable } from '../catalog/option-table.js';
import type { DeviceReading, DeviceReport } from '../scheduler/events.js';
import type { ExitClass, Placement } from '../scheduler/state.js';
import type { Bytes, DeviceName } from '../scheduler/units.js';
import type { DeviceNames } from './device-names.js';
import type { ChildMessage, MeasuredResult } from './messages.js';

export type EngineName = 'llama-server' | 'embedded' | 'sim';
export type ChildRole = 'instance' | 'measure';

/** How to start a child: never through a shell. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  /** The child's whole environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Our names of devices by the child's own, where it sees only some of them; absent: they are the same. */
  readonly deviceNames?: DeviceNames;
}

export interface Launch {
  readonly entry: CatalogEntry;
  readonly port: number;
  /** The devices chosen for it, when the model may be laid out in several ways; else null. */
  readonly devices: readonly DeviceName[] | null;
  readonly role: ChildRole;
}

/** How a child ended, as the operating system and its output tell it. */
export interface ExitEvidence {
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** True when we asked it to stop. */
  readonly asked: boolean;
  /** Its last log lines, oldest first. */
  readonly lastLines: readonly string[];
}

export interface ExitVerdict {
  readonly exitClass: ExitClass;
  /** One sentence for people. */
  readonly reason: string;
  readonly device: DeviceName | null;
  readonly askedBytes: Bytes | null;
}

/** How one model is measured: a child, or several one after another, that allocate nothing. */
export interface Measurement {
  /** The first child. */
  readonly command: Command;
  /** Reads one line of a child's stdout (untrusted text). A result ends the measurement. */
  read(line: string): MeasuredResult | null;
  /** A child has ended by itself without a result: who is asked next, or what came of it. */
  ended(evidence: ExitEvidence): Command | MeasuredResult;
}

/** Which pipe of a child a line came through. */
export type OutputStream = 'stdout' | 'stderr';

/** Reads what one child prints, a line at a time (untrusted text); it may remember what that child has said before. */
export interface OutputReader {
  /** Null means that the line is a log line. */
  read(line: string, stream: OutputStream): ChildMessage | null;
}

export interface EngineCapabilities {
  /** Its children can report what a model needs without allocating it. */
  readonly measure: boolean;
  /** Its children can leave memory when idle and come back by themselves. */
  readonly sleep: boolean;
  /** They also leave memory when they are told to. Absent: they do not. */
  readonly park?: boolean;
  /** False when its children never say that they are ready: they are asked on their port. Absent: true. */
  readonly announcesReady?: boolean;
}

/** How a model becomes a process. The scheduler cannot tell engines apart. */
export interface Engine {
  readonly name: EngineName;
  /** Why this engine was chosen, for logs and the screen. */
  readonly reason: string;
  readonly simulated: boolean;
  readonly options: OptionTable;
  /** Tells one build of its children's program from another, since they may need different memory; empty: unknown. */
  readonly build?: string;
  /** The devices that its children say they can use, as they said last; null or absent: they do not say. */
  readonly devices?: readonly DeviceName[] | null;
  /** Asks them again, since a driver has come up. Never rejects. Absent: nothing would change. */
  lookAgain?(): Promise<void>;
  /**
   * What a program of its children's sees of the devices now; for those that no probe can be had for. It may take a
   * driver's context for a moment, which is in what it says is in use. Never rejects. Absent: it cannot tell.
   */
  reportDevices?(): Promise<readonly DeviceReport[]>;
  capabilities(): EngineCapabilities;
  command(launch: Launch): Command;
  /**
   * True when a child takes a context on every device that it can see although its entry names those that it is to use.
   * Absent: no child does.
   */
  looksAtEveryDevice?(entry: CatalogEntry): boolean;
  /** A reader for the output of one child, from its first line on. */
  reader(): OutputReader;
  classify(evidence: ExitEvidence): ExitVerdict;
  /**
   * What a model is expected to need, before anything was measured: ways to lay it out on the given devices,
   * preferred first, at least one. Never throws; an entry that is invalid gives a placement that needs nothing. A device
   * that is there, but could never be read, has 0 bytes.
   */
  estimate(entry: CatalogEntry, devices: readonly DeviceReading[]): readonly Placement[];
  /**
   * What a child takes on a device that it uses besides what its tables say, before that was learnt: the driver's own
   * part. Absent: nothing, since its tables count it.
   */
  contextGuess?(device: DeviceReading): Bytes;
  /** How to find out what a model needs, laid out on the given devices; there when `capabilities().measure` says so. */
  measure?(launch: Omit<Launch, 'role'>): Measurement;
}
