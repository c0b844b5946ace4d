import type { Settings } from './state.js';
import { GIB } from './units.js';

/** What a scheduler is set to where nothing else is said; the command line's own defaults. */
export const DEFAULT_SETTINGS: Settings = {
  modelsMax: 0,
  marginBytes: GIB,
  hostMarginBytes: null,
  policy: 'lru',
  admission: 'wait',
  minResidencyMillis: 0,
  maxWaitMillis: 30_000,
  queueMax: 256,
  queueTimeoutMillis: 0,
  measures: false,
  measureLimitMillis: 300_000,
  killHung: false,
  releaseLimitMillis: 5000,
};
