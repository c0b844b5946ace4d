import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Decision, Delta, PlanView, Snapshot } from '../../src/client/types.js';

/** A request that was made of the fake supervisor. */
export interface Received {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly headers: IncomingMessage['headers'];
}

/** A real HTTP server on a unix socket that says what a test tells it to. */
export interface FakeSupervisor extends AsyncDisposable {
  readonly socketPath: string;
  /** Everything asked so far, oldest first. */
  readonly received: readonly Received[];
  /** Event streams that are open now. */
  listeners(): number;
  /** What new listeners get first, and what actions and plans answer. */
  snapshot: Snapshot;
  plan: PlanView | null;
  /** What is added reaches those who follow it. */
  logs: readonly string[];
  /** The error that actions answer with, or null: they succeed. */
  refusal: { readonly status: number; readonly message: string } | null;
  /** Actions are taken and never answered. */
  hangs: boolean;
  sendDelta(delta: Delta): void;
  sendDecision(decision: Decision): void;
  /** Writes to every event stream just as given. */
  sendRaw(text: string): void;
  /** Ends every event stream. */
  dropListeners(): void;
  /** Stops listening, and listens again at the same path. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

export async function startFakeSupervisor(snapshot: Snapshot): Promise<FakeSupervisor> {
  const folder = await mkdtemp(join(tmpdir(), 'fake-supervisor-'));
  const socketPath = join(folder, 'supervisor.sock');
  const received: Received[] = [];
  const streams = new Set<ServerResponse>();
  const followers = new Set<ServerResponse>();
  let logs: readonly string[] = [];
  let server: Server | null = null;

  const send = (text: string): void => {
    for (const stream of streams) stream.write(text);
  };
  const logLine = (line: string): string => `data: ${JSON.stringify({ line })}\n\n`;
  const event = (name: string, data: unknown): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

  const fake: FakeSupervisor = {
    socketPath,
    received,
    snapshot,
    plan: null,
    get logs() {
      return logs;
    },
    set logs(lines) {
      // What begins as before goes on; all else is another log, and whoever follows has to begin again.
      const goesOn = logs.every((line, index) => line === lines[index]);
      for (const follower of followers) {
        if (goesOn) for (const line of lines.slice(logs.length)) follower.write(logLine(line));
        else follower.end();
      }
      logs = lines;
    },
    refusal: null,
    hangs: false,
    listeners: () => streams.size,
    sendDelta: (delta) => send(event('delta', delta)),
    sendDecision: (decision) => send(event('decision', decision)),
    sendRaw: send,
    dropListeners() {
      for (const stream of streams) stream.end();
    },
    async start() {
      server = createServer((request, response) => void answer(request, response));
      const listening = server;
      await new Promise<void>((resolve) => listening.listen(socketPath, resolve));
    },
    async stop() {
      const stopping = server;
      server = null;
      if (stopping === null) return;
      const closed = new Promise<void>((resolve) => stopping.close(() => resolve()));
      stopping.closeAllConnections();
      await closed;
    },
    async [Symbol.asyncDispose]() {
      await fake.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://localhost');
    let text = '';
    for await (const piece of request.setEncoding('utf8')) text += String(piece);
    received.push({
      method: request.method ?? '',
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      body: text === '' ? null : JSON.parse(text),
      headers: request.headers,
    });
    const reply = (status: number, body: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    switch (url.pathname) {
      case '/supervisor/events':
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(event('snapshot', fake.snapshot));
        streams.add(response);
        response.on('close', () => streams.delete(response));
        break;
      case '/supervisor/state':
        reply(200, fake.snapshot);
        break;
      case '/supervisor/plan':
        if (fake.plan === null) reply(404, { error: { message: 'There is no such model.' } });
        else reply(200, fake.plan);
        break;
      case '/supervisor/logs':
        if (url.searchParams.get('follow') !== '1') reply(200, { lines: logs });
        else {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          response.write(`: log\n\n${logs.map(logLine).join('')}`);
          followers.add(response);
          response.on('close', () => followers.delete(response));
        }
        break;
      default:
        if (fake.hangs) break;
        if (fake.refusal === null) reply(200, { success: true });
        else reply(fake.refusal.status, { error: { message: fake.refusal.message } });
    }
  }

  await fake.start();
  return fake;
}
