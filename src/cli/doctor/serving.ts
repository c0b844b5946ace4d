import { isUsableDevice } from '../../engines/embedded/devices.js';
import type { FoundBinary } from '../../engines/llama-server/find-binary.js';
import type { ProbeFailure } from '../../scheduler/events.js';
import type { DeviceName } from '../../scheduler/units.js';
import type { Finding } from './finding.js';

/** What models are run with here, as far as it matters for where they go. */
export type ChosenEngine =
  | { readonly name: 'embedded' }
  | ({ readonly name: 'llama-server' } & Pick<FoundBinary, 'devices' | 'blind' | 'measureRole'>);

/** The GPUs of this machine: those that were read, and why others were not. */
export interface GpusSeen {
  readonly read: readonly DeviceName[];
  readonly failures: readonly ProbeFailure[];
}

const MEND =
  'mend what the driver says; meanwhile n-gpu-layers = 0 has a model served on the processor, and --admission proceed loads without knowing what is free';

/**
 * Whether models can be served where the engine puts them by itself: on its GPUs where it has any. Null: they can, or there
 * is nothing to say against it. Where not one of those can be read they wait and are refused, whichever the engine, and only
 * those for the processor are served; see the admission of the scheduler.
 */
export function judgeServing(engine: ChosenEngine | null, { read, failures }: GpusSeen): Finding | null {
  if (engine === null || read.some((name) => puts(engine, name))) return null;
  const refused = failures.flatMap(({ devices, lasting = false }) =>
    devices.filter((name) => puts(engine, name) && !(lasting && tellsSize(engine, name))),
  );
  if (refused.length === 0) return null;
  const names = [...new Set(refused)].join(', ');
  const whose = engine.name === 'embedded' ? 'the engine in the box' : 'llama-server';
  const they = refused.length === 1 ? 'it' : 'they';
  return {
    area: 'devices',
    level: 'fail',
    name: 'serving',
    text: `${whose} puts models on ${names}, and ${they} cannot be read: until then such models wait, and are refused after 30 s`,
    fix: MEND,
    stillServed: 'models for the processor',
  };
}

/** True where models go to this GPU that say nothing of devices. */
function puts(engine: ChosenEngine, name: DeviceName): boolean {
  switch (engine.name) {
    case 'embedded':
      return isUsableDevice(name);
    case 'llama-server':
      // What a driver that is not up hides from it, it uses once that is up; one that was built for none never does.
      if (engine.devices === undefined || engine.blind !== undefined) return true;
      return engine.devices.includes(name);
  }
}

/** Where no probe can be had at all, what the engine says of a GPU's size counts. */
function tellsSize(engine: ChosenEngine, name: DeviceName): boolean {
  switch (engine.name) {
    case 'embedded':
      return true;
    case 'llama-server':
      return engine.measureRole === true || engine.devices?.includes(name) === true;
  }
}
