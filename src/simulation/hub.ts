import type { EventBody } from '../scheduler/events.js';
import type { DeviceName, Millis } from '../scheduler/units.js';
import type { Faults, WorldConfig } from './config.js';
import type { Pool } from './pool.js';
import type { Random } from './random.js';

/** What every part of a world can do: act later, tell the scheduler, and have bad luck. */
export interface Hub {
  readonly config: WorldConfig;
  readonly random: Random;
  readonly pools: ReadonlyMap<DeviceName, Pool>;
  /** What the clock on the wall says; it may have been set back. */
  readonly wall: () => Millis;
  readonly after: (millis: Millis, act: () => void) => void;
  /** Like `after`, for what goes on for ever and keeps nobody waiting. */
  readonly afterIdly: (millis: Millis, act: () => void) => void;
  readonly tell: (body: EventBody) => void;
  /** True when this goes wrong now; counted by kind. */
  readonly fault: (kind: keyof Faults) => boolean;
}
