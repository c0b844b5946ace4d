import type { DeviceName, ModelView } from '../../src/client/types.js';
import { MIB, type Bytes } from '../../src/scheduler/units.js';
import type { Supervised } from './supervised.js';

/** The CUDA context that the emulation takes for each process and GPU: its default. */
const CONTEXT_BYTES: Bytes = 200 * MIB;
/** What all figures for the same memory may differ by at most, as a share of the largest. */
const TOLERANCE = 0.02;

/** How far those who should say the same are apart. */
export interface Agreement {
  /** Share of the largest figure, 0..1. */
  readonly worst: number;
  readonly faults: readonly string[];
}

interface Figures {
  readonly what: string;
  readonly said: Readonly<Record<string, Bytes>>;
}

/**
 * At rest, everybody has to say the same of every GPU (our ledger, the emulated one, NVML, nvidia-smi) and of every
 * model (our claim, what our probes see, the emulated ledger, and what the child itself has logged that it allocated).
 */
export async function compareAtRest(supervised: Supervised): Promise<Agreement> {
  const { machine } = supervised;
  const snapshot = await supervised.untilAtRest();
  const [gpus, nvml, smi] = await Promise.all([machine.gpus(), machine.usedByNvml(), machine.usedByNvidiaSmi()]);
  const figures: Figures[] = gpus.map(({ index, usedBytes }) => {
    const device = snapshot.devices.find(({ name }) => name === `CUDA${index}`);
    const ours = device === undefined ? 0 : device.heldBytes + device.reservedBytes + device.externalBytes;
    const said = { 'our ledger': ours, emulation: usedBytes, NVML: nvml[index] ?? 0, 'nvidia-smi': smi[index] ?? 0 };
    return { what: `CUDA${index}`, said };
  });
  for (const model of snapshot.models.filter(({ pid }) => pid !== null)) {
    const logged = allocatedByLog(await supervised.logs(model.id));
    for (const { index, processes } of gpus) {
      const held = processes.find(({ pid }) => pid === model.pid)?.usedBytes ?? 0;
      figures.push(figuresOf(model, `CUDA${index}`, held, logged[`CUDA${index}`]));
    }
  }
  const apart = figures.map(({ what, said }) => ({ what, said, share: spread(Object.values(said)) }));
  return {
    worst: Math.max(0, ...apart.map(({ share }) => share)),
    faults: apart.filter(({ share }) => share > TOLERANCE).map(sayDisagreement),
  };
}

function figuresOf(model: ModelView, device: DeviceName, held: Bytes, logged: Bytes | undefined): Figures {
  const own = logged === undefined || model.word !== 'ready' ? {} : { 'its log': logged + CONTEXT_BYTES };
  return {
    what: `${model.id} on ${device}`,
    said: { 'our claim': model.claim[device] ?? 0, 'our probes': model.resident[device] ?? 0, emulation: held, ...own },
  };
}

/** Fitting and warming up may say a buffer's size more than once: the last one counts. */
function allocatedByLog(lines: readonly string[]): Readonly<Record<DeviceName, Bytes>> {
  const buffers = new Map<string, { readonly device: DeviceName; readonly bytes: Bytes }>();
  for (const line of lines) {
    const [, device, buffer, mib] = /(CUDA\d+) +(\S.*?) buffer size = +([\d.]+) MiB/u.exec(line) ?? [];
    if (device !== undefined) buffers.set(`${device} ${buffer ?? ''}`, { device, bytes: Number(mib) * MIB });
  }
  const sums: Record<DeviceName, Bytes> = {};
  for (const { device, bytes } of buffers.values()) sums[device] = (sums[device] ?? 0) + bytes;
  return sums;
}

function spread(values: readonly Bytes[]): number {
  const most = Math.max(...values);
  return most === 0 ? 0 : (most - Math.min(...values)) / most;
}

function sayDisagreement({ what, said }: Figures): string {
  const figures = Object.entries(said).map(([who, bytes]) => `${who} ${(bytes / MIB).toFixed(1)} MiB`);
  return `${what}: ${figures.join(', ')}`;
}
