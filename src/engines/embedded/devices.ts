import type { DeviceName } from '../../scheduler/units.js';
import { visibleIds } from '../visible-ids.js';

/** What node-llama-cpp calls the kinds of accelerators that it has binaries for. */
export type GpuKind = 'cuda' | 'vulkan' | 'metal';

/** ggml's device names, and the variable that restricts what each backend sees (null: there is only one device). */
const BACKENDS: readonly { readonly prefix: RegExp; readonly gpu: GpuKind; readonly variable: string | null }[] = [
  { prefix: /^CUDA(\d+)$/u, gpu: 'cuda', variable: 'CUDA_VISIBLE_DEVICES' },
  { prefix: /^Vulkan(\d+)$/u, gpu: 'vulkan', variable: 'GGML_VK_VISIBLE_DEVICES' },
  { prefix: /^(?:MTL|Metal)(\d*)$/u, gpu: 'metal', variable: null },
];

export interface DeviceSelection {
  /** False: the processor only. */
  readonly gpu: GpuKind | false;
  /** As the supervisor names them; empty on the processor. */
  readonly devices: readonly DeviceName[];
}

const PROCESSOR: DeviceSelection = { gpu: false, devices: [] };

/**
 * How a child is confined to devices. `Host`, `none`, names of other backends and an empty list mean the
 * processor; of devices of several backends, those of the first one's backend count.
 */
export function selectDevices(names: readonly DeviceName[]): DeviceSelection {
  for (const { prefix, gpu } of BACKENDS) {
    if (prefix.test(names[0] ?? '')) return { gpu, devices: names.filter((name) => prefix.test(name)) };
  }
  return PROCESSOR;
}

/**
 * The environment in which a child sees exactly the devices that were selected for it.
 *
 * @param environment this process's: the devices that it may see itself are numbered as it says
 */
export function confine(
  { devices }: DeviceSelection,
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const confined: Record<string, string> = {};
  for (const { prefix, variable } of BACKENDS) {
    if (variable === null) continue;
    const numbers = devices.flatMap((name) => Number(prefix.exec(name)?.[1] ?? []));
    const ids = visibleIds(numbers, environment[variable]);
    if (ids !== null) confined[variable] = ids;
  }
  return confined;
}

/** True for a device on which this engine can run something. */
export function isUsableDevice(name: DeviceName): boolean {
  return selectDevices([name]).gpu !== false;
}
