import type { DeviceName, Snapshot } from '../../src/client/types.js';
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
  /** Claims of models that have never been seen at work may be more than they hold: by how much, one sentence each. */
  readonly guesses: readonly string[];
}

interface Figures {
  readonly what: string;
  readonly said: Readonly<Record<string, Bytes>>;
}

/**
 * At rest, everybody has to say the same of every GPU (our probes, the emulated ledger, NVML, nvidia-smi) and of every
 * model (our claim, our probes, the emulated ledger, and what the child itself has logged that it allocated). A claim is
 * never less than what is held; it is the same once the model has been seen at work in a run before.
 */
export async function compareAtRest(supervised: Supervised): Promise<Agreement> {
  const { machine } = supervised;
  const snapshot = await supervised.untilAtRest();
  const [gpus, nvml, smi] = await Promise.all([machine.gpus(), machine.usedByNvml(), machine.usedByNvidiaSmi()]);
  const figures: Figures[] = gpus.map(({ index, usedBytes }) => {
    const device = `CUDA${index}`;
    const said = { 'our probes': seenOn(snapshot, device), emulation: usedBytes };
    return { what: device, said: { ...said, NVML: nvml[index] ?? 0, 'nvidia-smi': smi[index] ?? 0 } };
  });
  const claims: Figures[] = [];
  for (const model of snapshot.models.filter(({ pid }) => pid !== null)) {
    const logged = allocatedByLog(await supervised.logs(model.id));
    for (const { index, processes } of gpus) {
      const device = `CUDA${index}`;
      const held = processes.find(({ pid }) => pid === model.pid)?.usedBytes ?? 0;
      const own = logged[device];
      const says = own === undefined || model.word !== 'ready' ? {} : { 'its log': own + CONTEXT_BYTES };
      const said = { 'our probes': model.resident[device] ?? 0, emulation: held, ...says };
      figures.push({ what: `${model.id} on ${device}`, said });
      const claim = {
        what: `${model.id} on ${device}`,
        said: { 'our claim': model.claim[device] ?? 0, emulation: held },
      };
      const isGuess = model.claimQuality !== 'observed' && (model.claim[device] ?? 0) > held;
      (isGuess ? claims : figures).push(claim);
    }
  }
  return {
    worst: Math.max(0, ...figures.map(spread)),
    faults: figures.filter((figure) => spread(figure) > TOLERANCE).map(sayDisagreement),
    guesses: claims.filter((figure) => spread(figure) > TOLERANCE).map(sayDisagreement),
  };
}

/** What our probes see in use: what others use, and what each of our processes is seen to hold. */
function seenOn({ devices, models }: Snapshot, name: DeviceName): Bytes {
  const ours = models.reduce((sum, { resident }) => sum + (resident[name] ?? 0), 0);
  return ours + (devices.find((device) => device.name === name)?.externalBytes ?? 0);
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

function spread({ said }: Figures): number {
  const values = Object.values(said);
  const most = Math.max(...values);
  return most === 0 ? 0 : (most - Math.min(...values)) / most;
}

function sayDisagreement({ what, said }: Figures): string {
  const figures = Object.entries(said).map(([who, bytes]) => `${who} ${(bytes / MIB).toFixed(1)} MiB`);
  return `${what}: ${figures.join(', ')}`;
}
