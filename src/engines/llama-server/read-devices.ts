import type { DeviceReport } from '../../scheduler/events.js';
import { MIB, type DeviceName, type Millis } from '../../scheduler/units.js';
import { askProgram } from './ask-program.js';

const LIMIT_MILLIS: Millis = 10_000;

/** What a llama-server says of the devices that it can use. */
export interface ListedDevices {
  readonly names: readonly DeviceName[];
  /** Why it has none although it was built for some, in its library's words; absent: it was not, or has some. */
  readonly failure?: string;
  /** How large they are, and what is free, as its driver says it to a program that uses them. */
  readonly reports: readonly DeviceReport[];
}

/** As ggml says it of CUDA and its kin, when a driver does not start, or there is none. */
const FAILURE = /^.*failed to initialize (?:CUDA|ROCm|MUSA|SYCL|Vulkan)\b.*$/imu;

/**
 * Asks a llama-server which devices it can use, by `--list-devices`: a build for Vulkan names the same GPU
 * otherwise than one for CUDA, and one for the CPU has none. Null when it does not say so in time, or is too
 * old to know the question.
 */
export async function readDeviceNames(binary: string): Promise<ListedDevices | null> {
  const environment = { CUDA_DEVICE_ORDER: 'PCI_BUS_ID' };
  const { stdout, stderr, exitCode } = await askProgram(binary, '--list-devices', environment, LIMIT_MILLIS);
  const names = exitCode === 0 ? parseDeviceList(stdout) : null;
  if (names === null) return null;
  const failure = FAILURE.exec(`${stderr}\n${stdout}`)?.[0].trim();
  const reports = parseDeviceReports(stdout);
  return { names, reports, ...(names.length > 0 || failure === undefined ? {} : { failure }) };
}

/** Reads lines such as `  CUDA0: NVIDIA GeForce RTX 3090 (24576 MiB, 24000 MiB free)` below the heading. */
export function parseDeviceList(text: string): readonly DeviceName[] | null {
  return linesBelowHeading(text)?.flatMap((line) => /^\s+(\S+?): .*MiB/.exec(line)?.[1] ?? []) ?? null;
}

function parseDeviceReports(text: string): readonly DeviceReport[] {
  return (linesBelowHeading(text) ?? []).flatMap((line): DeviceReport[] => {
    const [, name, total, free] = /^\s+(\S+?): .*\((\d+) MiB, (\d+) MiB free\)\s*$/.exec(line) ?? [];
    if (name === undefined || Number(total) === 0) return [];
    return [{ name, totalBytes: Number(total) * MIB, freeBytes: Number(free) * MIB }];
  });
}

function linesBelowHeading(text: string): readonly string[] | null {
  const lines = text.split(/\r?\n/);
  const heading = lines.findIndex((line) => line.startsWith('Available devices:'));
  return heading === -1 ? null : lines.slice(heading + 1);
}
