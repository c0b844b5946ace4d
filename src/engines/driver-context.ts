import type { DeviceReading } from '../scheduler/events.js';
import { MIB, type Bytes } from '../scheduler/units.js';

/** Devices on which a process has a context of its own as soon as it asks how much memory they have free. */
export const TAKES_CONTEXT: RegExp = /^(?:CUDA|ROCm|MUSA)\d+$/u;

/**
 * Real cards take 300 to 500 MiB; the lower end, since too much would refuse what fits, and the device's margin covers
 * the rest.
 */
const USUAL_CONTEXT_BYTES: Bytes = 300 * MIB;

/** What the driver takes for a process on a device that it uses, before anything was learnt. Other backends take little. */
export function guessContext({ name }: Pick<DeviceReading, 'name'>): Bytes {
  return TAKES_CONTEXT.test(name) ? USUAL_CONTEXT_BYTES : 0;
}
