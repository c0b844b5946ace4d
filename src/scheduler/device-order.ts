import type { DeviceName } from './units.js';

/**
 * Devices in the order in which they are shown, `Host` last: makers in the order in which they were first heard of, and
 * the devices of one (`CUDA0`, `CUDA1`, …) by number. So that none moves when another comes to be read.
 */
export function inDeviceOrder<T extends { readonly name: DeviceName; readonly kind: string | null }>(
  devices: readonly T[],
): readonly T[] {
  const makers = [...new Set(devices.map(({ name }) => numbered(name).maker))];
  const rank = ({ name, kind }: T): readonly number[] => {
    const { maker, number } = numbered(name);
    return [kind === 'host' ? 1 : 0, makers.indexOf(maker), number];
  };
  return devices
    .map((device) => ({ device, rank: rank(device) }))
    .toSorted((a, b) => a.rank.map((part, index) => part - (b.rank[index] ?? 0)).find((by) => by !== 0) ?? 0)
    .map(({ device }) => device);
}

/** ggml's names end in a number where there may be several. */
function numbered(name: DeviceName): { readonly maker: string; readonly number: number } {
  const digits = /\d+$/u.exec(name)?.[0] ?? '';
  return { maker: name.slice(0, name.length - digits.length), number: Number(digits) };
}
