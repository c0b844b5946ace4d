import type { DeviceReading, InstanceReading } from '../scheduler/events.js';
import type { Millis } from '../scheduler/units.js';
import type { DeviceProbe, ProcessTree } from './probe.js';
import { readStartTime } from './process-start.js';
import { readLedger, removeHolding, sumOn, type SimDevice, type SimHolding } from './sim-ledger.js';

export interface SimProbeOptions {
  readonly devices: readonly SimDevice[];
  readonly ledgerDirectory: string;
  /** How long the memory of a dead process stays in use, as a driver's does; default 700 ms. */
  readonly releaseMillis?: Millis;
}

const DEFAULT_RELEASE_MILLIS: Millis = 700;

/**
 * The simulated devices, read from their ledger. What a process held stays in use for `releaseMillis` after
 * this probe first sees it dead, still counted as that process's; then its file is removed.
 */
export function createSimProbe(options: SimProbeOptions): DeviceProbe {
  const { devices, ledgerDirectory, releaseMillis = DEFAULT_RELEASE_MILLIS } = options;
  const deadSince = new Map<string, Millis>();

  const isReleased = (holding: SimHolding): boolean => {
    const process = `${holding.pid} ${holding.startTime ?? ''}`;
    if (isAlive(holding)) return false;
    const since = deadSince.get(process);
    if (since === undefined) deadSince.set(process, performance.now());
    if (since === undefined ? releaseMillis > 0 : performance.now() - since < releaseMillis) return false;
    deadSince.delete(process);
    removeHolding(ledgerDirectory, holding.pid);
    return true;
  };

  return {
    name: 'sim',
    capabilities: { total: true, used: true, perProcess: true, names: true },
    sample(trees) {
      const ledger = readLedger(ledgerDirectory);
      const holdings = ledger.holdings.filter((holding) => !isReleased(holding));
      return Promise.resolve({
        devices: devices.map(({ name, totalBytes }): DeviceReading => {
          const usedBytes = Math.min(totalBytes, sumOn(name, { ...ledger, holdings }));
          return {
            name,
            kind: 'discrete',
            description: 'simulated device',
            totalBytes,
            usedBytes,
            attributed: true,
            source: 'sim',
          };
        }),
        instances: trees.map((tree) => readInstance(tree, devices, holdings)),
      });
    },
    close: () => undefined,
  };
}

function readInstance(
  { model, generation, pids }: ProcessTree,
  devices: readonly SimDevice[],
  holdings: readonly SimHolding[],
): InstanceReading {
  const mine = holdings.filter(({ pid }) => pids.includes(pid));
  const resident = devices.map(
    ({ name }) => [name, mine.reduce((sum, held) => sum + (held.devices[name] ?? 0), 0)] as const,
  );
  return { model, generation, resident: Object.fromEntries(resident) };
}

/** By pid and start time: the pid alone may be somebody else's by now. */
function isAlive({ pid, startTime }: SimHolding): boolean {
  const now = readStartTime(pid);
  return now !== undefined && (now === null || startTime === null || now === startTime);
}
