import { ProbeAbsent, type DeviceProbe, type ProbeSample } from './probe.js';

const NOTHING: ProbeSample = { devices: [], instances: [] };

/**
 * Several ways to ask the same devices, best first. One that finds out that it cannot be had here gives way to the next
 * for good; the last one leaves nothing to ask, which is no error: there are no such devices. A driver that refuses or
 * hangs is no reason to ask it in another way: it would say the same.
 */
export function createFallbackProbe(title: string, ways: readonly (() => DeviceProbe)[]): DeviceProbe {
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
        if (asked === null) return NOTHING;
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
    close: () => current?.close(),
  };
}
