import { GIB, MIB, type Bytes, type Millis } from '../scheduler/units.js';

const MILLIS_PER: Readonly<Record<string, Millis>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const BYTES_PER: Readonly<Record<string, Bytes>> = { B: 1, KiB: 1024, MiB: MIB, GiB: GIB, TiB: 1024 * GIB };

/** `300ms`, `1.5s`, `5m`, `2h`, or 0; null when it is none. */
export function parseMillis(text: string | number): Millis | null {
  return parse(text, /^(\d+(?:\.\d+)?)\s*(ms|s|m|h)$/u, MILLIS_PER);
}

/** `24GiB`, `512 MiB`, or 0; null when it is none. */
export function parseBytes(text: string | number): Bytes | null {
  return parse(text, /^(\d+(?:\.\d+)?)\s*(B|KiB|MiB|GiB|TiB)$/u, BYTES_PER);
}

function parse(text: string | number, form: RegExp, units: Readonly<Record<string, number>>): number | null {
  if (Number(text) === 0 && text !== '') return 0;
  const [, amount, unit] = form.exec(String(text).trim()) ?? [];
  if (amount === undefined || unit === undefined) return null;
  const value = Math.round(Number(amount) * (units[unit] ?? 0));
  return Number.isSafeInteger(value) ? value : null;
}
