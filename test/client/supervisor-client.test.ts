import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectSupervisor } from '../../src/client/supervisor-client.js';
import type { ClientMessage, SupervisorClient } from '../../src/client/types.js';
import { until } from '../support/until.js';
import { startFakeSupervisor, type FakeSupervisor } from '../support/fake-supervisor.js';
import { busySnapshot, SAMPLE_TIME, sampleDecision } from '../support/snapshots.js';

let supervisor: FakeSupervisor;
let client: SupervisorClient;

beforeEach(async () => {
  supervisor = await startFakeSupervisor(busySnapshot());
  client = connectSupervisor({ socketPath: supervisor.socketPath });
});

afterEach(async () => {
  client.close();
  await supervisor[Symbol.asyncDispose]();
});

function listen(from: SupervisorClient = client): ClientMessage[] {
  const messages: ClientMessage[] = [];
  from.subscribe((message) => messages.push(message));
  return messages;
}

const count = (messages: readonly ClientMessage[], type: ClientMessage['type']): number =>
  messages.filter((message) => message.type === type).length;

describe('listening', () => {
  it('brings the snapshot first, then deltas and decisions in their order', async () => {
    const messages = listen();
    await until('the snapshot has come', () => messages.length === 1);
    supervisor.sendDelta({ at: SAMPLE_TIME + 1 });
    supervisor.sendDecision(sampleDecision(7));
    await until('all has come', () => messages.length === 3);
    expect(messages).toEqual([
      { type: 'snapshot', snapshot: supervisor.snapshot },
      { type: 'delta', delta: { at: SAMPLE_TIME + 1 } },
      { type: 'decision', decision: sampleDecision(7) },
    ]);
  });

  it('passes over events that a later supervisor may send', async () => {
    const messages = listen();
    await until('the snapshot has come', () => messages.length === 1);
    supervisor.sendRaw(': ping\n\nevent: weather\ndata: sunny\n\n');
    supervisor.sendDelta({ at: SAMPLE_TIME + 1 });
    await until('the delta has come', () => count(messages, 'delta') === 1);
    expect(messages).toHaveLength(2);
  });

  it('says whether the screen owns the supervisor', async () => {
    const owner = connectSupervisor({ socketPath: supervisor.socketPath }, { owner: true });
    listen(owner);
    listen();
    await until('both listen', () => supervisor.listeners() === 2);
    owner.close();
    const queries = supervisor.received.map((request) => request.query);
    expect(queries).toContainEqual({ owner: '1' });
    expect(queries).toContainEqual({});
  });

  it('does not say of a supervisor that came after its own that it owns it', async () => {
    const owner = connectSupervisor({ socketPath: supervisor.socketPath }, { owner: true });
    const messages = listen(owner);
    const listened = (): (string | undefined)[] =>
      supervisor.received.filter(({ path }) => path === '/supervisor/events').map(({ query }) => query['owner']);
    for (const [times, pid] of [
      [1, 100],
      [2, 100],
      [3, 101],
      [4, 101],
    ] as const) {
      await until('it has seen who is there', () => count(messages, 'snapshot') === times);
      const { snapshot } = supervisor;
      // Who is found at the next attempt.
      const next = times < 2 ? 100 : 101;
      supervisor.snapshot = { ...snapshot, supervisor: { ...snapshot.supervisor, pid: next } };
      expect(messages.findLast(({ type }) => type === 'snapshot')).toMatchObject({ snapshot: { supervisor: { pid } } });
      if (times < 4) supervisor.dropListeners();
    }
    owner.close();
    expect(listened()).toEqual(['1', '1', undefined, undefined]);
  });

  it('ends when it is told to, and says nothing of it', async () => {
    const messages: ClientMessage[] = [];
    const end = client.subscribe((message) => messages.push(message));
    await until('it listens', () => supervisor.listeners() === 1);
    end();
    await until('it has gone', () => supervisor.listeners() === 0);
    expect(count(messages, 'disconnected')).toBe(0);
  });
});

describe('a lost connection', () => {
  it('is told in a sentence, and mended without being asked', async () => {
    const messages = listen();
    await until('it listens', () => count(messages, 'snapshot') === 1);
    supervisor.dropListeners();
    await until('it listens again', () => count(messages, 'snapshot') === 2);
    const lost = messages.find((message) => message.type === 'disconnected');
    expect(lost?.reason).toMatch(/^The supervisor at .+ has ended the connection\.$/);
  });

  it('survives a supervisor that is away for some time, and says the same reason once', async () => {
    const messages = listen();
    await until('it listens', () => count(messages, 'snapshot') === 1);
    await supervisor.stop();
    await until('it has noticed', () =>
      messages.some((message) => message.type === 'disconnected' && message.reason.startsWith('Nothing listens at')),
    );
    await supervisor.start();
    await until('it listens again', () => count(messages, 'snapshot') === 2);
    const reasons = messages.flatMap((message) => (message.type === 'disconnected' ? [message.reason] : []));
    expect(new Set(reasons).size).toBe(reasons.length);
  });
});

describe('asking and acting', () => {
  it('sends actions with ids as they are, whatever is in them', async () => {
    const id = 'org/model: Q4 "x"\u001b[31m';
    expect(await client.act('load', id)).toEqual({ ok: true });
    expect(supervisor.received.at(-1)).toMatchObject({ method: 'POST', path: '/supervisor/load', body: { model: id } });
    await client.act('cancel', id, 'r17');
    expect(supervisor.received.at(-1)).toMatchObject({ path: '/supervisor/cancel', body: { request: 'r17' } });
    supervisor.logs = ['a', 'b'];
    expect(await client.logs(id)).toEqual(['a', 'b']);
    expect(supervisor.received.at(-1)).toMatchObject({ path: '/supervisor/logs', query: { model: id } });
  });

  it('hands back what the supervisor says against an action', async () => {
    supervisor.refusal = { status: 409, message: 'phi-4 is already loaded.' };
    expect(await client.act('load', 'phi-4')).toEqual({ ok: false, message: 'phi-4 is already loaded.' });
  });

  it('brings plans, and their errors as one sentence', async () => {
    await expect(client.plan('nobody')).rejects.toThrow('There is no such model.');
    supervisor.plan = { model: 'phi-4', outcome: 'fits', sentence: 'phi-4 fits on CUDA0', decision: null };
    expect(await client.plan('phi-4')).toEqual(supervisor.plan);
  });

  it('asks for the end of everything, and takes its leave', async () => {
    expect(await client.stopAll()).toEqual({ ok: true });
    expect(await client.detach()).toEqual({ ok: true });
    expect(supervisor.received.map((request) => request.path)).toEqual(['/supervisor/shutdown', '/supervisor/detach']);
  });

  it('does not throw when nobody is there', async () => {
    await supervisor.stop();
    const result = await client.act('load', 'phi-4');
    expect(result).toEqual({
      ok: false,
      message: `Nothing listens at ${supervisor.socketPath}: the supervisor has ended or was never started.`,
    });
  });
});

describe('a supervisor behind a URL', () => {
  it('is given the key, at the path that the URL has', async () => {
    const seen: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      seen.push(request.url, request.headers.authorization);
      response.end('{"lines":[]}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const remote = connectSupervisor({ url: `http://127.0.0.1:${port}/gpu`, apiKey: 'secret' });
    await remote.logs('m');
    remote.close();
    server.close();
    expect(seen).toEqual(['/gpu/supervisor/logs?model=m', 'Bearer secret']);
  });

  it('that is something else is called that', async () => {
    const server = createServer((_request, response) => response.writeHead(404).end('<html>'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}`;
    const remote = connectSupervisor({ url });
    const result = await remote.act('load', 'm');
    remote.close();
    server.close();
    expect(result).toEqual({ ok: false, message: `${url} answers, but it is not an llm-tui supervisor (404).` });
  });
});
