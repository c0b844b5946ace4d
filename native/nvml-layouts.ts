/** Memory of a device in bytes. */
export interface NvmlMemory {
  readonly totalBytes: number;
  readonly freeBytes: number;
}

/** A process on a device; null bytes where the driver does not tell. */
export interface NvmlProcess {
  readonly pid: number;
  readonly bytes: number | null;
}

/** `nvmlReturn_t`, as far as something is made of it. */
export const CODE = {
  success: 0,
  notSupported: 3,
  insufficientSize: 7,
  functionNotFound: 13,
  argumentVersionMismatch: 25,
} as const;

/** `nvmlMemory_t`: total, free, used. */
export const MEMORY_V1_BYTES = 24;
/** `nvmlMemory_v2_t`: version, (padding,) total, reserved, free, used. */
export const MEMORY_V2_BYTES = 40;
export const MEMORY_V2_VERSION: number = MEMORY_V2_BYTES | (2 << 24);
/** `nvmlPciInfo_t`: a short bus id of 16 bytes, five numbers, and the bus id of 32 bytes. */
export const PCI_INFO_BYTES = 68;
const BUS_ID_OFFSET = 36;

/** The largest entry that any driver was seen to write; see `readProcesses`. */
export const ROOMY_PROCESS_BYTES = 32;
/** What lists are filled with, to see how far a driver writes. */
export const UNTOUCHED = 0xa5;
/** `NVML_VALUE_NOT_AVAILABLE`. */
const NOT_AVAILABLE = 2n ** 64n - 1n;

export function readMemoryV1(memory: Buffer): NvmlMemory {
  return { totalBytes: bytesAt(memory, 0), freeBytes: bytesAt(memory, 8) };
}

/** What the driver keeps for itself is neither free nor counted as used here; nobody can have it. */
export function readMemoryV2(memory: Buffer): NvmlMemory {
  return { totalBytes: bytesAt(memory, 8), freeBytes: bytesAt(memory, 24) };
}

export function readBusId(info: Buffer): string {
  return readText(info.subarray(BUS_ID_OFFSET));
}

/** A C string; the rest of its buffer means nothing. */
export function readText(text: Buffer): string {
  const end = text.indexOf(0);
  return text.toString('utf8', 0, end === -1 ? text.length : end);
}

/**
 * Reads a list of `nvmlProcessInfo_t`. Version 1 of the call writes 16 bytes each, later ones 24 (with MIG's instance
 * numbers), and early 535 drivers 32 from version 3 (with a field that was taken back): so whoever writes beyond
 * 24 bytes each writes 32.
 */
export function readProcesses(list: Buffer, count: number, bytesEach: 16 | 24): readonly NvmlProcess[] {
  const beyond = list.subarray(count * bytesEach);
  const stride = bytesEach === 24 && beyond.some((byte) => byte !== UNTOUCHED) ? ROOMY_PROCESS_BYTES : bytesEach;
  return Array.from({ length: Math.min(count, Math.floor(list.length / stride)) }, (_, index) => {
    const at = index * stride;
    const bytes = list.readBigUInt64LE(at + 8);
    return { pid: list.readUInt32LE(at), bytes: bytes === NOT_AVAILABLE ? null : Number(bytes) };
  });
}

function bytesAt(memory: Buffer, offset: number): number {
  return Number(memory.readBigUInt64LE(offset));
}
