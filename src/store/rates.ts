import type { Millis } from '../client/types.js';

/** Twice a second: as often as a person can read figures. */
export const FIGURES_INTERVAL_MILLIS: Millis = 500;
