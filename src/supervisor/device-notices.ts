import type { ProbeFailure } from '../scheduler/events.js';
import { sayDuration, sayList } from '../scheduler/explain.js';
import type { Millis } from '../scheduler/units.js';

/** What cannot be read now: a device, or a probe that names none. */
export interface Trouble {
  /** Null: the probe did not say which. */
  readonly device: string | null;
  readonly since: Millis;
  /** What was said of it last; it begins with whom it is about and a colon. */
  readonly message: string;
}

export interface NoticeChange {
  readonly troubles: readonly Trouble[];
  /** Notices that hold no longer. */
  readonly gone: readonly string[];
  /** New ones. */
  readonly said: readonly string[];
  /** What can be read again, for how long it could not, and why; no reason for alarm. */
  readonly over: readonly Recovery[];
}

export interface Recovery {
  readonly text: string;
  /** How it begins: one more time of the same needs to be shown once only. */
  readonly start: string;
}

/** Which card a driver means, by its place on the bus: its name as a device is told already. */
const CARD = /^.{0,100}\([\da-f]+:[\da-f]{2}:[\da-f]{2}\.\d\): /iu;

/** What becomes of the notices when the probes' failures change. Each device that can be read again is told of as it is. */
export function deviceNotices(
  before: readonly Trouble[],
  failures: readonly Pick<ProbeFailure, 'devices' | 'message'>[],
  at: Millis,
): NoticeChange {
  const troubles = failures.flatMap(({ devices, message }) => {
    const named = devices.length === 0 ? [null] : devices;
    return named.map((device): Trouble => ({ device, since: sinceOf(before, device, message) ?? at, message }));
  });
  const [was, is] = [messagesOf(before), messagesOf(troubles)];
  const over = before.filter(({ device }) => {
    // A probe that named no device may name some now.
    return device === null ? troubles.length === 0 : troubles.every((trouble) => trouble.device !== device);
  });
  return {
    troubles,
    gone: was.filter((message) => !is.includes(message)),
    said: is.filter((message) => !was.includes(message)),
    over: recoveries(over, at),
  };
}

/** One for all devices of which the same was said for the same time. */
function recoveries(over: readonly Trouble[], at: Millis): readonly Recovery[] {
  const groups = Map.groupBy(over, ({ since, message }) => {
    const whom = whomOf(message);
    const words = (whom === null ? message : message.slice(whom.length + 2)).replace(CARD, '');
    return JSON.stringify([whom ?? 'devices', words, sayDuration(at - since)]);
  });
  return [...groups].map(([key, troubles]) => {
    const [whom, words, time] = JSON.parse(key) as [string, string, string];
    const names = troubles.flatMap(({ device }) => device ?? []);
    const what = names.length === 0 ? '' : `${sayList(names)} ${names.length === 1 ? 'is' : 'are'} `;
    const start = `${whom}: ${what}read again`;
    return { start, text: `${start} after ${time}; it had said: ${words}` };
  });
}

/** Since when it has been in trouble, whatever was said of it; also when its probe could not tell yet that it is this one. */
function sinceOf(before: readonly Trouble[], device: string | null, message: string): Millis | null {
  const known = device === null ? undefined : before.find((trouble) => trouble.device === device);
  const unnamed = before.find((trouble) => trouble.device === null && whomOf(trouble.message) === whomOf(message));
  return (known ?? unnamed)?.since ?? null;
}

function messagesOf(troubles: readonly Trouble[]): readonly string[] {
  return [...new Set(troubles.map(({ message }) => message))];
}

function whomOf(message: string): string | null {
  return /^[^:]{1,60}(?=: )/u.exec(message)?.[0] ?? null;
}
