import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { WebSocket } from 'ws';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'];

/** Where a Chromium is; null where there is none. */
export function findChromium(): string | null {
  const directories = (process.env['PATH'] ?? '').split(delimiter);
  const candidates = NAMES.flatMap((name) => directories.map((directory) => join(directory, name)));
  return candidates.find(isExecutable) ?? null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** One file that a page has asked for. */
export interface Loaded {
  readonly url: string;
  readonly status: number;
  readonly mimeType: string;
  readonly fromCache: boolean;
}

interface Reply {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly message: string };
}

/** One page in a headless Chromium, spoken to over its DevTools protocol. */
export class Browser implements AsyncDisposable {
  /** What the page has loaded since it was opened last. */
  readonly loaded: Loaded[] = [];
  /** What went wrong in it. */
  readonly complaints: string[] = [];
  readonly #process: ChildProcess;
  readonly #profile: string;
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (reply: Reply) => void>();
  #session = '';
  #next = 1;

  private constructor(process: ChildProcess, profile: string, socket: WebSocket) {
    this.#process = process;
    this.#profile = profile;
    this.#socket = socket;
    socket.on('message', (data: Buffer) => this.#take(JSON.parse(data.toString('utf8')) as Reply));
  }

  static async start(binary: string): Promise<Browser> {
    const profile = mkdtempSync(join(tmpdir(), 'browser-'));
    const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run'];
    const debugging = ['--remote-debugging-port=0', `--user-data-dir=${profile}`, 'about:blank'];
    const child = spawn(binary, [...flags, ...debugging], { stdio: ['ignore', 'ignore', 'pipe'] });
    const address = await new Promise<string>((found, failed) => {
      let said = '';
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        said += text;
        const match = /DevTools listening on (ws:\S+)/u.exec(said)?.[1];
        if (match !== undefined) found(match);
      });
      child.once('error', failed).once('exit', () => failed(new Error(`Chromium ended: ${said.slice(-300)}`)));
    });
    const socket = new WebSocket(address);
    await once(socket, 'open');
    const browser = new Browser(child, profile, socket);
    await browser.#attach();
    return browser;
  }

  /** Opens an address and waits until the page is loaded. */
  async open(url: string): Promise<void> {
    this.loaded.length = 0;
    await this.#ask('Page.navigate', { url });
    await this.until('document.readyState === "complete"');
  }

  /** What an expression, which may be a promise, comes to in the page. Throws what it throws. */
  async evaluate(expression: string): Promise<unknown> {
    const options = { expression, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails } = (await this.#ask('Runtime.evaluate', options)) as {
      readonly result: { readonly value?: unknown };
      readonly exceptionDetails?: { readonly exception?: { readonly description?: string }; readonly text: string };
    };
    if (exceptionDetails === undefined) return result.value;
    throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  }

  /** Waits until the expression is true in the page; 20 s at most. */
  async until(expression: string): Promise<void> {
    const end = performance.now() + 20_000;
    while ((await this.evaluate(expression)) !== true) {
      if (performance.now() > end) throw new Error(`the page never came to: ${expression}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async screenshot(): Promise<Buffer> {
    const { data } = await this.#ask('Page.captureScreenshot', {});
    return Buffer.from(String(data), 'base64');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.terminate();
    this.#process.kill('SIGKILL');
    if (this.#process.exitCode === null && this.#process.signalCode === null) await once(this.#process, 'exit');
    // Its helpers write on for a moment.
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }

  async #attach(): Promise<void> {
    const { targetInfos } = (await this.#ask('Target.getTargets', {})) as {
      readonly targetInfos: readonly { readonly type: string; readonly targetId: string }[];
    };
    const page = targetInfos.find(({ type }) => type === 'page');
    const { sessionId } = await this.#ask('Target.attachToTarget', { targetId: page?.targetId, flatten: true });
    this.#session = String(sessionId);
    for (const domain of ['Page', 'Network', 'Runtime', 'Log']) await this.#ask(`${domain}.enable`, {});
  }

  async #ask(method: string, params: object): Promise<Readonly<Record<string, unknown>>> {
    const id = this.#next;
    this.#next += 1;
    const session = this.#session === '' ? {} : { sessionId: this.#session };
    const reply = await new Promise<Reply>((resolve) => {
      this.#waiting.set(id, resolve);
      this.#socket.send(JSON.stringify({ id, method, params, ...session }));
    });
    if (reply.error !== undefined) throw new Error(`${method}: ${reply.error.message}`);
    return reply.result ?? {};
  }

  #take(reply: Reply): void {
    if (reply.id !== undefined) {
      this.#waiting.get(reply.id)?.(reply);
      this.#waiting.delete(reply.id);
      return;
    }
    if (reply.method === 'Network.responseReceived') {
      const { response } = reply.params as {
        readonly response: Omit<Loaded, 'fromCache'> & { readonly fromDiskCache?: boolean };
      };
      const { url, status, mimeType, fromDiskCache = false } = response;
      this.loaded.push({ url, status, mimeType, fromCache: fromDiskCache });
    }
    if (reply.method === 'Runtime.exceptionThrown') this.complaints.push(JSON.stringify(reply.params).slice(0, 400));
    if (reply.method === 'Log.entryAdded') {
      const { entry } = reply.params as {
        readonly entry: { readonly level: string; readonly text: string; readonly url?: string };
      };
      if (entry.level === 'error') this.complaints.push(`${entry.text} ${entry.url ?? ''}`);
    }
  }
}
