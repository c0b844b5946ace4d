import type { Event } from '../../src/scheduler/events.js';
import type { Settings, State } from '../../src/scheduler/state.js';
import { initialState, step } from '../../src/scheduler/step.js';
import type { Faults, WorldConfig } from '../../src/simulation/config.js';
import { World } from '../../src/simulation/world.js';
import { freezePlain } from './freeze-plain.js';
import { Broken, Witness } from './world-check.js';

type Counts = Readonly<Record<string, number>>;

export interface WorldRun {
  readonly broken: Broken | null;
  /** `at rest`: nothing was left to happen. */
  readonly ended: 'at rest' | 'out of time' | 'broken';
  readonly events: readonly Event[];
  readonly faults: Readonly<Partial<Record<keyof Faults, number>>>;
  /** Decisions by kind. */
  readonly decisions: Counts;
  /** Requests by what became of them. */
  readonly outcomes: Counts;
}

/** Longer than any one thing takes after the last fault. */
const LONGEST_WAIT_MILLIS = 600_000;

/** Plays a world to its end and checks it after every event, and that replaying what happened gives the same again. */
export function runWorld(config: WorldConfig): WorldRun {
  const events: Event[] = [];
  const decisions: Record<string, number> = {};
  const witness = new Witness();
  const world = new World(
    config,
    (turn) => {
      for (const { kind } of turn.result.decisions) decisions[kind] = (decisions[kind] ?? 0) + 1;
      witness.see(turn);
    },
    (state, event) => {
      events.push(event);
      return step(state, event);
    },
  );
  let broken: Broken | null = null;
  let ended: WorldRun['ended'] = 'broken';
  try {
    freezePlain(world.state, 'state');
    ended = world.run();
    if (ended === 'at rest') witness.checkRest();
    else witness.checkPatience(LONGEST_WAIT_MILLIS);
    checkReplay(config.settings, events, world.state);
  } catch (error) {
    broken = asBroken(error, events.at(-1) ?? null);
  }
  const outcomes: Record<string, number> = {};
  for (const { outcome } of world.clients.all.values()) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  return { broken, ended, events, faults: world.faults, decisions, outcomes };
}

function asBroken(error: unknown, event: Event | null): Broken {
  if (error instanceof Broken) return error;
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return new Broken('throws', `${text} (in ${event?.type ?? 'no event'})`);
}

/** From a journal on disk, so to say. */
function checkReplay(settings: Settings, events: readonly Event[], end: State): void {
  let state = initialState(settings);
  for (const event of JSON.parse(JSON.stringify(events)) as Event[]) state = step(state, event).state;
  if (JSON.stringify(state) !== JSON.stringify(end)) throw new Broken('replay', 'another state came out');
}

/** Plays recorded events and nothing else; what must not be, or null. */
export function replay(settings: Settings, events: readonly Event[], toRest: boolean): Broken | null {
  const witness = new Witness();
  let state = initialState(settings);
  let last: Event | null = null;
  try {
    for (const event of events) {
      last = event;
      const result = step(state, event);
      witness.see({ event, before: state, result });
      state = result.state;
    }
    if (toRest && witness.isAtRest()) witness.checkRest();
    return null;
  } catch (error) {
    return asBroken(error, last);
  }
}
