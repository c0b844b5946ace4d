import type { DeviceReading, InstanceReading } from '../scheduler/events.js';
import type { ModelId } from '../scheduler/units.js';

/** The processes of one instance: its child and everything below it. */
export interface ProcessTree {
  readonly model: ModelId;
  readonly generation: number;
  readonly pids: readonly number[];
}

/** One look at the devices of one probe. */
export interface ProbeSample {
  readonly devices: readonly DeviceReading[];
  /** Only trees that hold something, or are known to hold nothing, on these devices. */
  readonly instances: readonly InstanceReading[];
}

/** A source of figures about devices: asynchronous, limited in time, and it never wakes a sleeping device. */
export interface DeviceProbe {
  readonly name: string;
  /**
   * Takes one sample. Rejects with an Error whose message is the driver's own words when it cannot:
   * unknown is neither zero nor free.
   */
  sample(trees: readonly ProcessTree[]): Promise<ProbeSample>;
  close(): void;
}
