import type { createProbes } from '../devices/combined-probe.js';
import type { ChosenEngine } from '../engines/choose-engine.js';
import type { Paths } from '../supervisor/paths.js';

/**
 * Where devices are looked for: simulated ones stand alone; else the ways that this machine does not have give way by
 * themselves.
 */
export function probesFor({ engine, sim }: ChosenEngine, paths: Paths): Parameters<typeof createProbes>[0] {
  if (sim !== null) return { sim: { devices: sim, ledgerDirectory: paths.simulation } };
  return { nvml: {}, nvidiaSmi: {}, drm: {}, engineDevices: () => engine.devices ?? null };
}
