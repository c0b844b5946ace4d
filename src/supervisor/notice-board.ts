import type { SupervisorInfo } from '../client/types.js';
import { deviceNotices } from './device-notices.js';
import { Listeners } from './listeners.js';

/** Notices kept for the screen. */
const KEPT_NOTICES = 50;

/** What the supervisor says of itself, and what it tells its user that is no decision. */
export class NoticeBoard {
  readonly #changed: () => void;
  readonly #told = new Listeners<string>();
  #info: SupervisorInfo;
  /** What the probes say of devices that cannot be read now. */
  #deviceErrors: readonly string[] = [];

  /** @param changed called whenever `info` is another one */
  constructor(info: SupervisorInfo, changed: () => void) {
    this.#info = { ...info, notices: info.notices.slice(-KEPT_NOTICES) };
    this.#changed = changed;
  }

  get info(): SupervisorInfo {
    return this.#info;
  }

  listensAt(url: string, host: string): void {
    this.#info = { ...this.#info, url, host };
    this.#changed();
  }

  say(...notices: readonly string[]): void {
    this.#replace([], notices);
  }

  /** An error that is over leaves the notices; once all are, that is said. */
  takeDeviceErrors(errors: readonly string[]): void {
    const { gone, said } = deviceNotices(this.#deviceErrors, errors);
    this.#deviceErrors = errors;
    this.#replace(gone, said);
  }

  /** Called with every notice from now on. Returns the function that ends it. */
  onNotice(listener: (notice: string) => void): () => void {
    return this.#told.add(listener);
  }

  #replace(gone: readonly string[], notices: readonly string[]): void {
    if (gone.length + notices.length === 0) return;
    const kept = this.#info.notices.filter((notice) => !gone.includes(notice));
    this.#info = { ...this.#info, notices: [...kept, ...notices].slice(-KEPT_NOTICES) };
    this.#changed();
    for (const notice of notices) this.#told.tell(notice);
  }
}
