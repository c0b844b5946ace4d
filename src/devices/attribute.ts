import { readFile, readlink } from 'node:fs/promises';
import type { DeviceReading, ForeignProcess, InstanceReading } from '../scheduler/events.js';
import type { Bytes, DeviceName } from '../scheduler/units.js';
import type { ProbeSample, ProcessTree } from './probe.js';
import { nameOfProcess } from './process-name.js';
import { ProcessOwners } from './process-owner.js';

/** Memory of one process on one device; null bytes where the driver does not tell. */
export interface DeviceProcess {
  readonly pid: number;
  readonly bytes: Bytes | null;
}

/** One device as its driver has it, before it is known whose processes hold what. */
export type DriverReading = Omit<DeviceReading, 'attributed' | 'foreign'> & {
  /** Null: the driver does not say who uses it. */
  readonly processes: readonly DeviceProcess[] | null;
};

/** Strangers that are named on each device. */
const MOST_FOREIGN = 5;

/** The first PID namespace's inode number is fixed (PROC_PID_INIT_INO in the kernel's proc_ns.h). */
const FIRST_PID_NAMESPACE = 'pid:[4026531836]';

const HIDDEN = 'the driver does not show the processes of a container; who holds what is not known';
const NOT_TOLD = 'the driver does not tell what each process holds';

/** Finds out whose memory is whose on the devices of a driver that lists processes. */
export class Attribution {
  readonly #owners: ProcessOwners;
  /** True once the driver is known to speak of the same processes as we do. */
  #sameProcesses: boolean | undefined;

  /** `pidsAreOurs`: whether the driver's pids are ours; by default found out from the system. */
  constructor(pidsAreOurs?: boolean, owners: ProcessOwners = new ProcessOwners()) {
    this.#sameProcesses = pidsAreOurs;
    this.#owners = owners;
  }

  async attribute(readings: readonly DriverReading[], trees: readonly ProcessTree[]): Promise<ProbeSample> {
    this.#sameProcesses ??= await driverPidsAreOurs();
    const pids = new Set(readings.flatMap(({ processes }) => processes?.map(({ pid }) => pid) ?? []));
    const owners = this.#owners.find([...pids], trees);
    // One pid that we know proves it, for ever.
    this.#sameProcesses ||= owners.size > 0;
    const resident = new Map(trees.map((tree) => [tree.generation, {}]));
    const devices = readings.map((reading) => this.#device(reading, owners, resident));
    const instances = trees.flatMap(({ model, generation }): InstanceReading[] => {
      const held = resident.get(generation) ?? {};
      return Object.keys(held).length === 0 ? [] : [{ model, generation, resident: held }];
    });
    return { devices, instances };
  }

  #device(
    { processes, ...reading }: DriverReading,
    owners: ReadonlyMap<number, ProcessTree>,
    resident: ReadonlyMap<number, Record<DeviceName, Bytes>>,
  ): DeviceReading {
    const listed = processes ?? [];
    const told = processes !== null && listed.every(({ bytes }) => bytes !== null);
    if (!told || this.#sameProcesses !== true) {
      return { ...reading, attributed: false, remark: reading.remark ?? (told ? HIDDEN : NOT_TOLD) };
    }
    const sum = listed.reduce((all, { bytes }) => all + (bytes ?? 0), 0);
    // Processes are read first: what appeared since is in the total only, what left in the sum only.
    const usedBytes = Math.min(reading.totalBytes, Math.max(reading.usedBytes, sum));
    // Who is in no list holds nothing.
    for (const held of resident.values()) held[reading.name] = 0;
    const strangers: DeviceProcess[] = [];
    for (const process of listed) {
      const held = resident.get(owners.get(process.pid)?.generation ?? -1);
      if (held === undefined) strangers.push(process);
      else held[reading.name] = (held[reading.name] ?? 0) + (process.bytes ?? 0);
    }
    const foreign = foreignOf(strangers);
    return { ...reading, usedBytes, attributed: true, ...(foreign.length === 0 ? {} : { foreign }) };
  }
}

function foreignOf(strangers: readonly DeviceProcess[]): readonly ForeignProcess[] {
  return strangers
    .toSorted((a, b) => (b.bytes ?? 0) - (a.bytes ?? 0) || a.pid - b.pid)
    .slice(0, MOST_FOREIGN)
    .map(({ pid, bytes }) => ({ pid, name: nameOfProcess(pid), bytes: bytes ?? 0 }));
}

/**
 * In a container the driver lists no processes, or those of the machine by other numbers; under WSL it lists
 * none. Then a missing process must not be read as one that holds nothing.
 */
async function driverPidsAreOurs(): Promise<boolean> {
  if (process.platform !== 'linux') return true;
  try {
    const [namespace, version] = await Promise.all([readlink('/proc/self/ns/pid'), readFile('/proc/version', 'utf8')]);
    return namespace === FIRST_PID_NAMESPACE && !/microsoft/i.test(version);
  } catch {
    return false;
  }
}
