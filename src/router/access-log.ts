import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import type { Exchange } from './exchange.js';

/** Lines are written together, so that a request costs no system call of its own. */
const FLUSH_MILLIS = 200;
const FLUSH_CHARACTERS = 64 * 1024;
/** A disk that cannot keep up costs lines, not memory. */
const MAX_BACKLOG_BYTES = 8 * 1024 * 1024;
/** A longer target is somebody's attempt at something. */
const LONGEST_PATH = 512;

/** Query parameters that are names or switches of the API; the value of any other might be a key. */
const PLAIN_PARAMETERS: ReadonlySet<string> = new Set(['model', 'autoload', 'reload', 'follow', 'from', 'action']);

/** One line of JSON for each request, without bodies and keys (`--log-requests`). */
export class AccessLog {
  readonly #stream: WriteStream;
  #lines: string[] = [];
  #characters = 0;
  #timer: NodeJS.Timeout | null = null;
  #dropped = 0;
  #broken = false;

  /** `onFailure` is told once, in one sentence, when the file cannot be written. */
  constructor(path: string, onFailure: (notice: string) => void) {
    this.#stream = createWriteStream(path, { flags: 'a', mode: 0o600 });
    this.#stream.on('error', (error) => {
      this.#broken = true;
      onFailure(`The log of requests, ${path}, cannot be written (${error.message}); there is none from now on.`);
    });
  }

  /** The exchange is over. `now`: milliseconds since the epoch. */
  ended(exchange: Exchange, sentBytes: number, now: number): void {
    if (this.#broken) return;
    if (this.#stream.writableLength > MAX_BACKLOG_BYTES) {
      this.#dropped += 1;
      return;
    }
    const { number, method, path, model, schedulerRequest, waitMillis, bodyBytes, response, request } = exchange;
    this.#add({
      at: new Date(now).toISOString(),
      number,
      request: schedulerRequest,
      from: exchange.local ? 'socket' : (request.socket.remoteAddress ?? null),
      method,
      path: path.slice(0, LONGEST_PATH),
      query: redactedQuery(exchange.search),
      model,
      status: response.headersSent ? response.statusCode : null,
      aborted: !response.writableFinished,
      waitMillis: waitMillis === null ? null : rounded(waitMillis),
      totalMillis: rounded(performance.now() - exchange.startedAt),
      bodyBytes,
      sentBytes,
    });
  }

  /** Writes what is left, and ends. */
  async close(): Promise<void> {
    this.#flush();
    if (this.#broken) return;
    this.#stream.end();
    await Promise.race([once(this.#stream, 'close'), once(this.#stream, 'error')]).catch(() => undefined);
  }

  #add(line: object): void {
    if (this.#dropped > 0) {
      this.#lines.push(JSON.stringify({ droppedLines: this.#dropped }));
      this.#dropped = 0;
    }
    const text = JSON.stringify(line);
    this.#lines.push(text);
    this.#characters += text.length;
    if (this.#characters > FLUSH_CHARACTERS) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), FLUSH_MILLIS);
  }

  #flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#lines.length === 0 || this.#broken) return;
    this.#stream.write(`${this.#lines.join('\n')}\n`);
    this.#lines = [];
    this.#characters = 0;
  }
}

function rounded(millis: number): number {
  return Math.round(millis * 10) / 10;
}

/** Names of parameters, and the values that can be no secrets. */
export function redactedQuery(search: string): string {
  if (search === '') return '';
  const shown = [...new URLSearchParams(search)].map(([name, value]) =>
    PLAIN_PARAMETERS.has(name) ? `${name}=${value}` : `${name.slice(0, 64)}=…`,
  );
  return shown.join('&').slice(0, LONGEST_PATH);
}
