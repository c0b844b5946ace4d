import { GIB, MIB, type Bytes } from '../../scheduler/units.js';

const UNITS: Readonly<Record<string, Bytes>> = { '': 1, B: 1, KIB: 1024, MIB, GIB, TIB: 1024 * GIB };

/** Reads an amount of memory such as `8GiB`, `512 MiB`, `1.5GiB` or a plain number of bytes; null when it is none. */
export function parseBytes(text: string): Bytes | null {
  const match = /^(\d+(?:\.\d+)?)\s*([A-Za-z]*)$/.exec(text.trim());
  const unit = UNITS[(match?.[2] ?? '').toUpperCase()];
  if (!match || unit === undefined) return null;
  const bytes = Math.round(Number(match[1]) * unit);
  return Number.isSafeInteger(bytes) ? bytes : null;
}
