import type { Part } from '../part.js';
import { boxed } from './boxed.js';
import { clients } from './clients.js';
import { cycles } from './cycles.js';
import { foreign, greedy, late, unpinned } from './disturbed.js';
import { driver } from './driver.js';
import { driverAtStart } from './driver-at-start.js';
import { endings } from './endings.js';
import { fitting } from './fitting.js';
import { listing } from './listing.js';
import { page } from './page.js';
import { sleeping } from './sleeping.js';
import { swapping } from './swapping.js';

/** In the order in which they run. */
export const PARTS: readonly Part[] = [
  swapping,
  foreign,
  unpinned,
  greedy,
  late,
  fitting,
  boxed,
  sleeping,
  endings,
  cycles,
  driver,
  driverAtStart,
  clients,
  listing,
  page,
];
