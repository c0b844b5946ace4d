import type { DeviceReading, InstanceReading, ProbeFailure } from '../scheduler/events.js';
import type { DeviceName, ModelId } from '../scheduler/units.js';

/** The processes of one instance: its child and everything below it. */
export interface ProcessTree {
  readonly model: ModelId;
  readonly generation: number;
  readonly pids: readonly number[];
}

/** How busy a device is; null where its driver does not tell. */
export interface DeviceActivity {
  /** 0..100 */
  readonly utilizationPercent: number | null;
  readonly temperatureCelsius: number | null;
  readonly powerMilliwatts: number | null;
}

/** One look at the devices of one probe. */
export interface ProbeSample {
  readonly devices: readonly DeviceReading[];
  /** Only trees that hold something, or are known to hold nothing, on these devices. */
  readonly instances: readonly InstanceReading[];
  /** Devices that could not be read while others could; they are not among `devices`. */
  readonly failures?: readonly ProbeFailure[];
  /** For people only: nothing is decided by it. */
  readonly activity?: Readonly<Record<DeviceName, DeviceActivity>>;
}

/** What a source can know at best; a single reading may still lack it. */
export interface ProbeCapabilities {
  /** The size of a device. */
  readonly total: boolean;
  /** How much of it is in use, by whomever. */
  readonly used: boolean;
  /** How much each of our processes holds. */
  readonly perProcess: boolean;
  /** Which device a child means by a name such as `CUDA1`. */
  readonly names: boolean;
}

/** A source of figures about devices: asynchronous, limited in time, and it never wakes a sleeping device. */
export interface DeviceProbe {
  readonly name: string;
  readonly capabilities: ProbeCapabilities;
  /** What the user should know of this source, one sentence each: what it cannot know here, what it stands in for. */
  readonly notes?: readonly string[];
  /** Why there is nothing to ask, a sentence for each way that was tried; empty or absent where there is something. */
  readonly absent?: readonly string[];
  /**
   * Takes one sample. Rejects with an Error whose message is the driver's own words when it cannot:
   * unknown is neither zero nor free.
   */
  sample(trees: readonly ProcessTree[]): Promise<ProbeSample>;
  /**
   * Devices that there must be by other signs, where it could never be read; none where nothing speaks for any.
   * @param words why it could not
   */
  expects?(words: string): readonly DeviceName[];
  close(): void;
}

/** There is no such driver or program here, and there will be none while this program runs: ask somebody else. */
export class ProbeAbsent extends Error {
  override readonly name = 'ProbeAbsent';
}
