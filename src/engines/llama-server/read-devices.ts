import type { DeviceName, Millis } from '../../scheduler/units.js';
import { askProgram } from './ask-program.js';

const LIMIT_MILLIS: Millis = 10_000;

/**
 * Asks a llama-server which devices it can use, by `--list-devices`: a build for Vulkan names the same GPU
 * otherwise than one for CUDA, and one for the CPU has none. Null when it does not say so in time, or is too
 * old to know the question.
 */
export async function readDeviceNames(binary: string): Promise<readonly DeviceName[] | null> {
  const environment = { CUDA_DEVICE_ORDER: 'PCI_BUS_ID' };
  const { stdout, exitCode } = await askProgram(binary, '--list-devices', environment, LIMIT_MILLIS);
  return exitCode === 0 ? parseDeviceList(stdout) : null;
}

/** Reads lines such as `  CUDA0: NVIDIA GeForce RTX 3090 (24576 MiB, 24000 MiB free)` below the heading. */
export function parseDeviceList(text: string): readonly DeviceName[] | null {
  const lines = text.split(/\r?\n/);
  const heading = lines.findIndex((line) => line.startsWith('Available devices:'));
  if (heading === -1) return null;
  return lines.slice(heading + 1).flatMap((line) => /^\s+(\S+?): .*MiB/.exec(line)?.[1] ?? []);
}
