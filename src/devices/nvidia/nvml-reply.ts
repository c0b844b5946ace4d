import type { NvmlActivity, NvmlGpu } from '../../../native/nvml.js';

/** One line of the program that reads NVML. */
export type NvmlReply =
  | {
      readonly driver: string | null;
      readonly gpus: readonly NvmlGpu[];
      /** Of each GPU in turn; null: the driver would not say. */
      readonly activity?: readonly (NvmlActivity | null)[];
    }
  /** The driver's own words. */
  | { readonly error: string }
  /** There is no NVML; the loader's own words. */
  | { readonly absent: string };

/** Reads a line; null when it is none of these. Both ends are of one program: only the outline is checked. */
export function parseNvmlReply(line: string): NvmlReply | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const known = ('gpus' in value && Array.isArray(value.gpus)) || 'error' in value || 'absent' in value;
  return known ? (value as NvmlReply) : null;
}
