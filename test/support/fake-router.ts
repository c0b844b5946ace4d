import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a llama-server router says of a model in `GET /models`. */
export interface RouterModel {
  readonly id: string;
  readonly value: 'unloaded' | 'loading' | 'loaded' | 'sleeping';
  readonly failed?: true;
  readonly exit_code?: number;
  readonly progress?: { readonly value: number };
  readonly n_ctx?: number;
}

/** A server with the routes of a llama-server router, that says what a test tells it to. */
export interface FakeRouter extends AsyncDisposable {
  readonly url: string;
  /** What it was told, e.g. `load a`. */
  readonly asked: string[];
  /** A change is told to those who listen for events. */
  set(...models: RouterModel[]): void;
}

export async function startFakeRouter(key: string | null = null, role = 'router'): Promise<FakeRouter> {
  const listeners = new Set<ServerResponse>();
  const asked: string[] = [];
  let models: readonly RouterModel[] = [];
  const server = createServer((request, response) => {
    const reply = (status: number, body: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    if (key !== null && request.headers.authorization !== `Bearer ${key}`) {
      return reply(401, { error: { message: 'Invalid API Key' } });
    }
    const path = new URL(request.url ?? '/', 'http://localhost').pathname;
    switch (`${request.method ?? ''} ${path}`) {
      case 'GET /props':
        return reply(200, { role, max_instances: 4, build_info: 'b1-test' });
      case 'GET /models':
        return reply(200, { object: 'list', data: models.map(describe) });
      case 'GET /models/sse':
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': hello\n\n');
        listeners.add(response);
        response.on('close', () => listeners.delete(response));
        return;
      case 'POST /models/load':
      case 'POST /models/unload': {
        let text = '';
        request.setEncoding('utf8').on('data', (piece: string) => (text += piece));
        request.on('end', () => {
          const { model } = JSON.parse(text) as { model: string };
          asked.push(`${path.slice('/models/'.length)} ${model}`);
          if (models.some(({ id }) => id === model)) reply(200, { success: true });
          else reply(400, { error: { code: 400, message: 'model is not found', type: 'invalid_request_error' } });
        });
        return;
      }
      default:
        return reply(404, { error: { message: 'File Not Found', type: 'not_found_error', code: 404 } });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    set(...now) {
      models = now;
      for (const listener of listeners) listener.write('data: {"model":"*","event":"status_change","data":{}}\n\n');
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function describe({ id, n_ctx: context, ...status }: RouterModel): object {
  return { id, aliases: [], object: 'model', status, ...(context === undefined ? {} : { meta: { n_ctx: context } }) };
}
