import { bytesOn } from './amounts.js';
import type { Verdict } from './admission.js';
import type { DeviceFigures, PassedOver, Victim } from './decisions.js';
import type { Layout } from './layouts.js';
import type { Leaver } from './leavers.js';
import type { Shortage } from './policies.js';
import type { Room } from './rooms.js';
import type { PolicyName, Settings, Silence, StopReason } from './state.js';
import { GIB, MIB, type Bytes, type DeviceBytes, type Millis } from './units.js';

/** Bytes for people: GiB with one decimal, MiB below one GiB. */
export function sayBytes(bytes: Bytes): string {
  return bytes >= GIB ? `${(bytes / GIB).toFixed(1)} GiB` : `${Math.ceil(bytes / MIB)} MiB`;
}

/** A length of time for people: `850ms`, `12s`, `5m12s`, `3h12m`. */
export function sayDuration(millis: Millis): string {
  if (millis < 1000) return `${Math.round(millis)}ms`;
  const seconds = Math.floor(millis / 1000);
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m${String(seconds % 60).padStart(2, '0')}s`;
  return `${Math.floor(minutes / 60)}h${String(minutes % 60).padStart(2, '0')}m`;
}

/** `6.2 GiB on CUDA0 and 512 MiB on Host`; the largest amounts first. */
export function sayAmounts(amounts: DeviceBytes): string {
  const parts = Object.entries(amounts)
    .filter(([, bytes]) => bytes > 0)
    .sort(([, a], [, b]) => b - a)
    .map(([device, bytes]) => `${sayBytes(bytes)} on ${device}`);
  return parts.length === 0 ? 'no memory' : sayList(parts);
}

export function sayList(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1) ?? ''}`;
}

/** What is missing: `short 8.1 GiB on CUDA0`, `all 2 places taken (--models-max 2)`, or both. */
export function sayShortage(shortage: Shortage, modelsMax: number): string {
  const parts: string[] = [];
  if (Object.keys(shortage.bytes).length > 0) parts.push(`short ${sayAmounts(shortage.bytes)}`);
  if (shortage.instances > 0) {
    parts.push(
      `${modelsMax === 1 ? 'the only place is' : `all ${modelsMax} places are`} taken (--models-max ${modelsMax})`,
    );
  }
  return sayList(parts);
}

/** Why the others cannot leave: `qwen3 is busy (2), phi-4 is not on CUDA0`; many that are elsewhere are only counted. */
export function sayPassedOver(passedOver: readonly PassedOver[], devices: readonly string[]): string {
  const elsewhere = passedOver.filter(({ reason }) => reason === 'not on this device');
  const there = passedOver.filter(({ reason }) => reason !== 'not on this device');
  const isMany = elsewhere.length > 1;
  const who = there.length > 0 ? 'others' : 'models';
  const others = isMany ? [`${elsewhere.length} ${who} are not on ${sayList(devices)}`] : [];
  return [...sayEach(isMany ? there : passedOver, devices), ...others].join(', ');
}

function sayEach(passedOver: readonly PassedOver[], devices: readonly string[]): readonly string[] {
  return passedOver.map(({ model, reason, requests }) => {
    if (reason === 'busy') return `${model} is busy (${requests})`;
    if (reason === 'not on this device') return `${model} is not on ${sayList(devices)}`;
    if (reason === 'too young') return `${model} is too young (--min-residency)`;
    if (reason === 'wanted') return `${model} is wanted by an earlier request`;
    if (reason === 'stopping' && requests > 0) return `${model} leaves after its current ${requests}`;
    return `${model} is ${reason}`;
  });
}

export function sayAdmission(
  model: string,
  layout: Layout,
  figures: readonly DeviceFigures[],
  behindHead: boolean,
): string {
  const need = `${layout.claimQuality === 'estimate' ? 'about ' : ''}${sayAmounts(layout.need)}`;
  const unlimited = figures.every((figure) => figure.marginBytes === 0);
  // In the order of what is needed.
  const needed = figures.filter((figure) => figure.needBytes > 0).sort((a, b) => b.needBytes - a.needBytes);
  const available = needed.map(({ device, availableBytes }) => {
    const bytes = sayBytes(Math.max(0, availableBytes));
    return needed.length > 1 ? `${bytes} on ${device}` : bytes;
  });
  const room = available.length > 0 && !unlimited ? `; ${sayList(available)} available` : '';
  if (layout.squeezed)
    return `${model}: does not fit whole even alone; loading with ${need} and leaving the rest to its own fitting`;
  const resort = layout.lastResort ? '; no other device is large enough' : '';
  return `${model}: ${behindHead ? 'goes first, nobody has to leave for it; ' : ''}needs ${need}${room}${resort}`;
}

/** `21.0 GiB on CUDA0 (of 24.0 GiB, 2.0 GiB used by others, 1.0 GiB margin)`. */
function sayRooms(rooms: readonly Room[]): string {
  return sayList(
    rooms.map(({ device, roomBytes, totalBytes, externalBytes, marginBytes, problem }) => {
      const others = externalBytes > 0 ? `, ${sayBytes(externalBytes)} used by others` : '';
      const last = problem === null ? '' : `; when it could last be read: ${problem}`;
      return `${sayBytes(roomBytes)} on ${device} (of ${sayBytes(totalBytes)}${others}, ${sayBytes(marginBytes)} margin${last})`;
    }),
  );
}

const CHOSEN_FOR: Readonly<Record<PolicyName, string>> = {
  lru: 'least recently used',
  'lru-any-device': 'least recently used on any device',
  cost: 'cheapest to bring back for what it gives',
};

/** @param isRest true when the shortage is what is left of it once others, who are on the way out already, have gone */
export function sayEviction(
  victim: Victim,
  forModel: string,
  shortage: Shortage,
  isRest: boolean,
  { modelsMax, policy }: Pick<Settings, 'modelsMax' | 'policy'>,
): string {
  const shortDevices = Object.keys(shortage.bytes);
  const gives = Object.fromEntries(shortDevices.map((device) => [device, bytesOn(victim.givesBytes, device)]));
  const where = shortDevices.length > 0 && policy !== 'lru-any-device' ? ` on ${sayList(shortDevices)}` : '';
  const what = shortDevices.length > 0 ? `gives ${sayAmounts(gives)}, ` : '';
  return (
    `${victim.model} for ${forModel}: ${CHOSEN_FOR[policy]}${where} (idle ${sayDuration(victim.idleMillis)}), ` +
    `${what}${sayShortage(shortage, modelsMax)}${isRest ? ' besides what leaves already' : ''}`
  );
}

/** Why a model does not run yet, or cannot; null for verdicts that bring it up at once. */
export function sayVerdict(model: string, verdict: Verdict, modelsMax: number): string | null {
  const { shortage, field } = verdict;
  // Said in every turn of everybody who waits: only what is needed is put into words.
  const missing = (): string => sayShortage(shortage, modelsMax);
  const others = (): string => sayPassedOver(field.passedOver, Object.keys(shortage.bytes));
  switch (verdict.kind) {
    case 'admit':
    case 'evict':
      return null;
    case 'wait-leaving':
      return `${model}: ${missing()}; waits for ${sayLeavers(verdict.leavers)}`;
    case 'wait-sizing':
      return `${model}: ${verdict.other} is loading on ${verdict.device} and sizes itself to what is free; one such load at a time`;
    case 'wait-measuring':
      return `${model}: the child that measures ${verdict.other} is on ${verdict.device} for a moment`;
    case 'wait-busy':
      return `${model}: ${missing()}; ${others()}`;
    case 'wait-turn':
      return `${model}: its turn comes after those queued before it; the room that is free is set aside for them`;
    case 'proceed':
      return `${model}: ${missing()}; it is loaded all the same (--admission proceed)`;
    case 'refuse-busy':
      return `${model}: ${missing()}; ${others()}; nobody waits (--admission refuse)`;
    case 'refuse-pinned': {
      const names = sayList(verdict.pinned.map((pinned) => pinned.model));
      return `${model}: ${missing()}, and pinned ${names} ${verdict.pinned.length > 1 ? 'are' : 'is'} in the way`;
    }
    case 'wait-unreadable':
    case 'refuse-unreadable':
      return `${model}: ${verdict.device} cannot be read, so nobody knows what is free there: ${verdict.problem}`;
    case 'wait-others':
      return `${model}: needs ${sayAmounts(verdict.layout.claim)}, and other programs have just taken the room for it: ${sayRooms(verdict.rooms)}`;
    case 'refuse-too-large': {
      const others = verdict.otherWays > 0 ? '; every other way to place it lacks more' : '';
      return `${model}: needs ${sayAmounts(verdict.layout.claim)}, more than there is with nothing else loaded: ${sayRooms(verdict.rooms)}${others}`;
    }
  }
}

/** `alpha to leave, beta to leave after its current 2 and the memory of gamma to come back`. */
export function sayLeavers(leavers: readonly Leaver[]): string {
  return sayList(
    leavers.map(({ model, what, requests }) => {
      if (what === 'memory') return `the memory of ${model} to come back`;
      if (what === 'measuring') return `what measuring ${model} took to come back`;
      return requests > 0 ? `${model} to leave after its current ${requests}` : `${model} to leave`;
    }),
  );
}

/** Why an instance was stopped. */
export function sayStopReason(reason: StopReason | null): string {
  switch (reason?.kind) {
    case undefined:
      return 'no reason recorded';
    case 'operator':
      return reason.action === 'kill' ? 'killed by the operator' : 'unloaded by the operator';
    case 'evicted':
      return `evicted for ${reason.by}`;
    case 'idle':
      return 'idle';
    case 'catalog':
      return reason.change === 'removed' ? 'no longer in the catalog' : 'its options or files changed';
    case 'shutdown':
      return 'shutting down';
    case 'stalled':
    case 'hung':
      return saySilence(reason);
  }
}

/** `stalled: nothing heard for 5m00s`. */
export function saySilence({ kind, silentMillis }: Silence): string {
  const time = sayDuration(silentMillis);
  return kind === 'stalled'
    ? `stalled: nothing heard for ${time}`
    : `hung: no answer, no token and no CPU time used for ${time}`;
}
