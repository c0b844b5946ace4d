/** An amount of memory in bytes; always a non-negative integer inside the program. */
export type Bytes = number;

/** A point in time, or a length of time, in milliseconds. Points are counted from the Unix epoch. */
export type Millis = number;

/** The longest delay that `setTimeout` can count to, some 24.8 days; anything longer fires at once. */
export const LONGEST_TIMER_MILLIS: Millis = 2 ** 31 - 1;

/** A memory pool, named as ggml names it (`CUDA0`, `Vulkan1`, `RPC0`, …), or `Host` for system memory. */
export type DeviceName = string;

/** The id of a catalog entry, as clients send it in `model`. May contain `/`, `:` and spaces. */
export type ModelId = string;

/** One client request from its arrival to its last byte. Minted by the supervisor. */
export type RequestId = string;

/** Bytes on each device; a device that is not named holds none. */
export type DeviceBytes = Readonly<Record<DeviceName, Bytes>>;

export const MIB: Bytes = 1024 * 1024;
export const GIB: Bytes = 1024 * MIB;

/** The device of system memory; every machine has it. */
export const HOST: DeviceName = 'Host';
