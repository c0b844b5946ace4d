import { createHash } from 'node:crypto';
import { childEnvironment } from '../engines/child-environment.js';
import type { DeviceReading } from '../scheduler/events.js';

/** What a measurement is valid for; see `keyOf`. */
export type MeasurementKey = string;

/**
 * The key of what is known of one model: the fingerprint, which stands for its files, its launch arguments, the engine
 * and its build; and the machine's devices, without system memory, whose size a container may change at any time.
 */
export function keyOf(fingerprint: string, devices: readonly DeviceReading[]): MeasurementKey {
  const set = devices
    .filter(({ kind }) => kind !== 'host')
    .map(({ name, kind, description, totalBytes }) => [name, kind, description, totalBytes])
    .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([fingerprint, set]))
    .digest('hex')
    .slice(0, 32);
}

/** Variables that llama.cpp, ggml and the drivers read, and that change what a child needs. */
const TELLING = /^(?:LLAMA_ARG_|GGML_|CUDA_|HIP_|ROCR_|HSA_|VK_)/;

/** What decides, besides a model's own arguments, how its child is started: engine, build and environment. */
export function launchContext(
  engine: { readonly name: string; readonly build?: string },
  environment: Readonly<Record<string, string | undefined>>,
): string {
  // As a child gets them: what the router keeps to itself changes nothing, and keys do not belong into a hash on disk.
  const given = childEnvironment(environment, { port: 0, childRole: 'instance' });
  const variables = Object.entries(given).filter(([name]) => TELLING.test(name));
  return JSON.stringify([engine.name, engine.build ?? '', variables.sort(([a], [b]) => (a < b ? -1 : 1))]);
}
