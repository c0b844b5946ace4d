import type { Effect } from '../scheduler/effects.js';
import type { ModelId } from '../scheduler/units.js';
import type { Children } from './children.js';
import type { DeviceWatch } from './device-watch.js';
import type { LeaseDesk } from './lease-desk.js';
import type { Measuring } from './measuring.js';
import type { Timers } from './timers.js';
import { wakeChild } from './wake-child.js';

/** Those who carry effects out. */
export interface Hands {
  readonly children: Children;
  readonly leases: LeaseDesk;
  readonly measuring: Measuring;
  readonly timers: Timers;
  readonly watch: DeviceWatch;
  /** Ends the requests that a generation answers. */
  readonly hangUp: (generation: number) => void;
  readonly savePins: (pins: readonly ModelId[]) => void;
}

/** Has an effect carried out. Never waits: what comes of it comes back as an event. */
export function runEffect(hands: Hands, effect: Effect): void {
  switch (effect.type) {
    case 'spawn':
      hands.children.spawn(effect);
      return;
    case 'stop':
      hands.children.stop(effect);
      return;
    case 'hang-up':
      hands.hangUp(effect.generation);
      return;
    case 'wake': {
      const port = hands.children.portOf(effect.generation);
      if (port !== null) wakeChild(port);
      return;
    }
    case 'park':
      hands.children.park(effect.generation);
      return;
    case 'cut-off':
      hands.leases.cutOff(effect);
      return;
    case 'grant':
      hands.leases.grant(effect);
      return;
    case 'reject':
      hands.leases.reject(effect);
      return;
    case 'arm-timer':
      hands.timers.arm(effect.at, effect.timer);
      return;
    case 'watch-devices':
      hands.watch.watchClosely(effect.closely);
      return;
    case 'look-at-devices':
      hands.watch.lookNow();
      return;
    case 'measure':
      hands.measuring.measure(effect);
      return;
    case 'cancel-measure':
      hands.measuring.cancel(effect);
      return;
    case 'remember':
      hands.measuring.remember(effect);
      return;
    case 'save-pins':
      hands.savePins(effect.pins);
      return;
  }
}
