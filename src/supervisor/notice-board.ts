import type { NoticeMark, SupervisorInfo } from '../client/types.js';
import type { ProbeFailure } from '../scheduler/events.js';
import type { Millis } from '../scheduler/units.js';
import { deviceNotices, type Trouble } from './device-notices.js';
import { Listeners } from './listeners.js';

/** Notices kept for the screen. */
const KEPT_NOTICES = 50;

type Notice = NoticeMark & { readonly text: string };

/** What the supervisor says of itself, and what it tells its user that is no decision. */
export class NoticeBoard {
  readonly #now: () => Millis;
  readonly #changed: () => void;
  readonly #told = new Listeners<string>();
  #info: SupervisorInfo;
  #notices: readonly Notice[];
  /** What cannot be read now. */
  #troubles: readonly Trouble[] = [];

  /** @param changed called whenever `info` is another one */
  constructor(info: SupervisorInfo, now: () => Millis, changed: () => void) {
    this.#now = now;
    this.#changed = changed;
    this.#notices = this.#from(info.notices.slice(-KEPT_NOTICES));
    this.#info = withNotices(info, this.#notices);
  }

  get info(): SupervisorInfo {
    return this.#info;
  }

  listensAt(url: string, host: string): void {
    this.#info = { ...this.#info, url, host };
    this.#changed();
  }

  say(...notices: readonly string[]): void {
    this.#replace(() => false, this.#from(notices));
  }

  /** A failure that is over leaves the notices; that its devices can be read again takes its place, without alarm. */
  takeDeviceFailures(failures: readonly ProbeFailure[]): void {
    const { troubles, gone, said, over } = deviceNotices(this.#troubles, failures, this.#now());
    this.#troubles = troubles;
    const isOld = (notice: Notice): boolean => {
      return notice.over ? over.some(({ start }) => notice.text.startsWith(start)) : gone.includes(notice.text);
    };
    // What fails is news that stays in sight: it comes last.
    const recoveries = over.map(({ text }) => text);
    this.#replace(isOld, [...this.#from(recoveries, true), ...this.#from(said)]);
  }

  /** Called with every notice from now on. Returns the function that ends it. */
  onNotice(listener: (notice: string) => void): () => void {
    return this.#told.add(listener);
  }

  #from(texts: readonly string[], over = false): readonly Notice[] {
    const at = this.#now();
    return texts.map((text) => ({ text, at, over }));
  }

  #replace(isOld: (notice: Notice) => boolean, fresh: readonly Notice[]): void {
    const kept = this.#notices.filter((notice) => !isOld(notice));
    if (kept.length === this.#notices.length && fresh.length === 0) return;
    this.#notices = [...kept, ...fresh].slice(-KEPT_NOTICES);
    this.#info = withNotices(this.#info, this.#notices);
    this.#changed();
    for (const { text } of fresh) this.#told.tell(text);
  }
}

function withNotices(info: SupervisorInfo, notices: readonly Notice[]): SupervisorInfo {
  return {
    ...info,
    notices: notices.map(({ text }) => text),
    noticeMarks: notices.map(({ at, over }) => ({ at, over })),
  };
}
