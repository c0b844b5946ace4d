import type { SimDevice } from '../../devices/sim-ledger.js';
import { parseBytes } from './parse-bytes.js';

/**
 * Reads `CUDA0=24GiB,CUDA1=24GiB`: the simulated devices, in order. Throws an Error with one sentence that
 * says what was read and what was expected.
 */
export function parseSimDevices(text: string): readonly SimDevice[] {
  const example = 'Write it like CUDA0=24GiB,CUDA1=24GiB.';
  const devices: SimDevice[] = [];
  for (const part of text.split(',')) {
    const match = /^\s*([A-Za-z][A-Za-z0-9_.:-]*)\s*=\s*(.*)$/.exec(part);
    const [, name, size] = match ?? [];
    if (name === undefined || size === undefined) {
      throw new Error(`"${part.trim()}" in the simulated devices is not NAME=SIZE. ${example}`);
    }
    const totalBytes = parseBytes(size);
    if (totalBytes === null || totalBytes === 0) {
      throw new Error(`"${size.trim()}" is no size for the simulated device ${name}. ${example}`);
    }
    if (devices.some((device) => device.name === name)) {
      throw new Error(`The simulated device ${name} is named twice. ${example}`);
    }
    devices.push({ name, totalBytes });
  }
  return devices;
}

/** The opposite of `parseSimDevices`. */
export function formatSimDevices(devices: readonly SimDevice[]): string {
  return devices.map(({ name, totalBytes }) => `${name}=${totalBytes}`).join(',');
}
