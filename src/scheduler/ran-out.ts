import { withUnneeded } from './admission.js';
import { bytesOn } from './amounts.js';
import type { DeviceFigures } from './decisions.js';
import { availableBytes, figuresOf, ledgerOf, type Ledger } from './ledger.js';
import { POLICIES, type Shortage } from './policies.js';
import { newEntry } from './queue.js';
import { needWhenRaised } from './raised.js';
import type { Instance, Model, State } from './state.js';
import { releasesAsSeen } from './releases.js';
import { entryOf, record, type Turn } from './turn.js';
import { doubtAbout } from './unread.js';
import { HOST, type DeviceBytes, type DeviceName } from './units.js';
import { surveyVictims, toVictim } from './victims.js';

/** The ledger with an instance still in it, and what it was counted for. */
export interface Moment {
  readonly ledger: Ledger;
  readonly claim: DeviceBytes;
}

/** To be taken before the instance is taken out: what it held is part of the picture. */
export function momentOf(turn: Turn, instance: Instance): Moment {
  return { ledger: ledgerOf({ ...turn.state, releases: releasesAsSeen(turn.state) }), claim: instance.claim };
}

/**
 * Records that an instance has run out of memory: the devices as they were with it, what it turned out to need against
 * what there was for it, who could have left, and everybody else with the reason why not. Returns the record's number.
 * @param model as it is now, with its claim raised
 * @param named where memory ran out, if that is known
 */
export function recordRanOut(
  turn: Turn,
  moment: Moment,
  model: Model,
  instance: Instance,
  named: DeviceName | null,
  sentence: string,
): number {
  const { id } = model.spec;
  const devices = new Set([...Object.keys(moment.claim), ...(named === null ? [] : [named])]);
  const figures = [...devices].flatMap((name) => figuresOfMoment(turn, moment, model, instance, name) ?? []);
  const shortage = shortageIn(figures, named);
  // Where nobody waits for it any more it is judged like somebody who comes just now.
  const field = surveyVictims(turn.state, entryOf(turn.state, id) ?? newEntry(turn, id, null), shortage);
  const victims = POLICIES[turn.state.settings.policy](field.candidates, shortage) ?? field.candidates;
  return record(turn, {
    kind: 'out-of-memory',
    model: id,
    forModel: null,
    asker: { kind: 'system' },
    ledger: figures,
    runningInstances: turn.state.running.length,
    modelsMax: turn.state.settings.modelsMax,
    plan: victims.map(toVictim),
    passedOver: withUnneeded(field, victims).passedOver,
    proceeded: false,
    sentence: [sentence, ...doubtsAbout(turn.state, moment.claim, named)].join('; '),
  });
}

/** Where it cannot be told what others held: whoever reads the record must not take its figures for the truth. */
function doubtsAbout(state: State, claim: DeviceBytes, named: DeviceName | null): readonly string[] {
  const used = Object.keys(claim).filter((name) => name !== HOST && bytesOn(claim, name) > 0);
  const doubts = (named === null ? used : [named]).flatMap((name) => doubtAbout(state, name) ?? []);
  return doubts.map((doubt) => `${doubt}, so what others held there is not known`);
}

function figuresOfMoment(
  turn: Turn,
  { ledger, claim }: Moment,
  model: Model,
  instance: Instance,
  name: DeviceName,
): DeviceFigures | null {
  const account = ledger[name];
  if (account === undefined) return null;
  const needBytes = Math.max(bytesOn(claim, name), needWhenRaised(turn.state, model, instance, name));
  // What it had been given was there for it.
  const available = availableBytes(account) + bytesOn(claim, name);
  return {
    ...figuresOf(account, 0),
    needBytes,
    availableBytes: available,
    deficitBytes: Math.max(0, needBytes - available),
  };
}

/** What was missing; where nothing seems to be, something was all the same. */
function shortageIn(figures: readonly DeviceFigures[], named: DeviceName | null): Shortage {
  const short = figures.filter(({ deficitBytes }) => deficitBytes > 0);
  const where = short.length > 0 ? short : figures.filter(({ device }) => named === null || device === named);
  return {
    bytes: Object.fromEntries(where.map(({ device, deficitBytes }) => [device, Math.max(1, deficitBytes)])),
    instances: 0,
  };
}
