import type { DeviceName } from '../scheduler/units.js';
import { ProbeAbsent, type DeviceProbe, type ProbeSample } from './probe.js';

const NOTHING: ProbeSample = { devices: [], instances: [] };

/**
 * Several ways to ask the same devices, best first. One that finds out that it cannot be had here gives way to the next
 * for good; the last one leaves nothing to ask, which is no error where nothing else speaks for such devices. A driver
 * that refuses or hangs is no reason to ask it in another way: it would say the same.
 * @param expects the devices that there must be all the same, given what the driver said; null: there is nobody to ask
 */
export function createFallbackProbe(
  title: string,
  ways: readonly (() => DeviceProbe)[],
  expects: (words: string | null) => readonly DeviceName[] = () => [],
): DeviceProbe {
  const passedOver: string[] = [];
  const rest = [...ways];
  let current = rest.shift()?.() ?? null;
  return {
    get name() {
      return current?.name ?? title;
    },
    get capabilities() {
      return current?.capabilities ?? { total: false, used: false, perProcess: false, names: false };
    },
    get notes() {
      return current === null ? [] : [...passedOver, ...(current.notes ?? [])];
    },
    get absent() {
      return current === null ? passedOver : [];
    },
    async sample(trees) {
      for (;;) {
        const asked = current;
        if (asked === null) return nothingToAsk(title, expects(null), passedOver);
        try {
          return await asked.sample(trees);
        } catch (error) {
          if (!(error instanceof ProbeAbsent)) throw error;
          // Several may have asked at once: only the first of them moves on.
          if (current !== asked) continue;
          passedOver.push(`${asked.name} cannot be had: ${error.message}`);
          asked.close();
          current = rest.shift()?.() ?? null;
        }
      }
    },
    expects,
    close: () => current?.close(),
  };
}

function nothingToAsk(title: string, devices: readonly DeviceName[], passedOver: readonly string[]): ProbeSample {
  if (devices.length === 0) return NOTHING;
  const there = `${devices.join(', ')} ${devices.length === 1 ? 'is' : 'are'} there, but cannot be asked`;
  const message = `${title}: ${there} (${passedOver.join('; ')})`;
  return { ...NOTHING, failures: [{ devices, message, lasting: true }] };
}
