import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bytes, DeviceBytes, DeviceName } from '../scheduler/units.js';

/** A simulated device; its memory is an entry in a ledger directory, its kind always discrete. */
export interface SimDevice {
  readonly name: DeviceName;
  readonly totalBytes: Bytes;
}

/** What one process holds on the simulated devices: the file `<pid>.json`. */
export interface SimHolding {
  readonly pid: number;
  /** As `readStartTime` has it. */
  readonly startTime: string | null;
  readonly devices: DeviceBytes;
}

/** What programs that are not ours hold; to be edited by tests and by users who want to see external memory. */
export const EXTERNAL_FILE = 'external.json';

/** Writes what a process holds; whoever reads at the same time sees the old file or the new one, never half of it. */
export function writeHolding(directory: string, holding: SimHolding): void {
  writeAtomically(directory, `${holding.pid}.json`, holding);
}

/** Sets what programs that are not ours hold, in bytes per device. */
export function writeExternal(directory: string, devices: DeviceBytes): void {
  writeAtomically(directory, EXTERNAL_FILE, devices);
}

export function removeHolding(directory: string, pid: number): void {
  rmSync(join(directory, `${pid}.json`), { force: true });
}

/** Everything in the ledger. Files that cannot be read as such are passed over: they are gone, or not ours. */
export function readLedger(directory: string): {
  readonly holdings: readonly SimHolding[];
  readonly external: DeviceBytes;
} {
  let names: string[];
  try {
    names = readdirSync(directory);
  } catch {
    return { holdings: [], external: {} };
  }
  const holdings = names
    .filter((name) => /^\d+\.json$/.test(name))
    .map((name) => readHolding(readJson(join(directory, name))))
    .filter((holding) => holding !== null);
  return { holdings, external: readDeviceBytes(readJson(join(directory, EXTERNAL_FILE))) };
}

/** Bytes in use on one device: every holding and what is external. */
export function sumOn(device: DeviceName, ledger: ReturnType<typeof readLedger>): Bytes {
  return ledger.holdings.reduce((sum, { devices }) => sum + (devices[device] ?? 0), ledger.external[device] ?? 0);
}

function writeAtomically(directory: string, name: string, value: object): void {
  mkdirSync(directory, { recursive: true });
  const temporary = join(directory, `.${name}.${process.pid}.${randomUUID()}`);
  writeFileSync(temporary, `${JSON.stringify(value)}\n`);
  renameSync(temporary, join(directory, name));
}

function readHolding(value: unknown): SimHolding | null {
  if (typeof value !== 'object' || value === null) return null;
  const { pid, startTime, devices } = value as Partial<Record<keyof SimHolding, unknown>>;
  if (typeof pid !== 'number' || !Number.isSafeInteger(pid) || pid <= 0) return null;
  return { pid, startTime: typeof startTime === 'string' ? startTime : null, devices: readDeviceBytes(devices) };
}

function readDeviceBytes(value: unknown): DeviceBytes {
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, number] => Number.isSafeInteger(entry[1]) && entry[1] >= 0),
  );
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}
