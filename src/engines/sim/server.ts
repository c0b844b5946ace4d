import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { complete } from './completion.js';
import type { SimSettings } from './options.js';
import { countTokens, isObject, readPrompt } from './reply.js';

type Body = Readonly<Record<string, unknown>>;

const EMBEDDING_DIMENSIONS = 8;

/** The HTTP side of a simulated child. `work` is told of every task. Until `ready()` it answers 503, as a loading llama-server does. */
export function createSimServer(
  settings: SimSettings,
  work: (use: () => Promise<void>) => Promise<void>,
): { readonly http: Server; ready(): void } {
  let loaded = false;
  const http = createServer((request, response) => {
    void answer(request, response).catch((error: unknown) => {
      if (!response.headersSent) sendError(response, 500, error instanceof Error ? error.message : String(error));
      else response.destroy();
    });
  });
  // A simulated answer may take as long as it is told to.
  http.requestTimeout = 0;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '/').replace(/\?.*$/, '').replace(/^\/v1(?=\/)/, '');
    const route = `${request.method ?? 'GET'} ${path}`;
    if (!loaded) {
      sendError(response, 503, 'Loading model');
      return;
    }
    switch (route) {
      case 'GET /health':
        sendJson(response, { status: 'ok' });
        return;
      case 'GET /models':
        sendJson(response, { object: 'list', data: [describeModel(settings)] });
        return;
      case 'POST /chat/completions':
        return work(() => withBody(request, response, (body) => complete(response, settings, 'chat', body)));
      case 'POST /completions':
        return work(() => withBody(request, response, (body) => complete(response, settings, 'text', body)));
      case 'POST /embeddings':
        return work(() => withBody(request, response, (body) => sendJson(response, embed(settings, body))));
      case 'POST /tokenize':
        return work(() =>
          withBody(request, response, (body) => {
            sendJson(response, { tokens: Array.from({ length: countTokens(readPrompt(body)) }, (_, index) => index) });
          }),
        );
      default:
        sendError(response, 404, `The simulated child has no ${route}.`);
    }
  }

  return {
    http,
    ready() {
      loaded = true;
    },
  };
}

async function withBody(
  request: IncomingMessage,
  response: ServerResponse,
  use: (body: Body) => void | Promise<void>,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  let body: unknown;
  try {
    body = JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch (error) {
    sendError(response, 400, `The request body is not JSON: ${error instanceof Error ? error.message : String(error)}`);
    return;
  }
  if (!isObject(body)) sendError(response, 400, 'The request body is not a JSON object.');
  else await use(body);
}

function describeModel({ alias, contextTokens, sizeBytes }: SimSettings): object {
  const meta = { n_ctx: contextTokens, n_ctx_train: contextTokens, size: sizeBytes, simulated: true };
  return { id: alias, object: 'model', created: 0, owned_by: 'simulated', meta };
}

function embed({ alias }: SimSettings, body: Body): object {
  const inputs: readonly unknown[] = Array.isArray(body['input']) ? (body['input'] as unknown[]) : [body['input']];
  const tokens = countTokens(readPrompt(body));
  return {
    object: 'list',
    model: alias,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
    data: inputs.map((input, index) => ({ object: 'embedding', index, embedding: fakeVector(input) })),
  };
}

/** The same text always gives the same unit vector; there is no meaning in it. */
function fakeVector(input: unknown): readonly number[] {
  let seed = 1;
  for (const character of JSON.stringify([input])) seed = (seed * 31 + (character.codePointAt(0) ?? 0)) % 2147483647;
  const vector = Array.from({ length: EMBEDDING_DIMENSIONS }, (_, index) => Math.sin(seed * (index + 1)));
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

function sendJson(response: ServerResponse, value: object): void {
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(value));
}

function sendError(response: ServerResponse, status: number, message: string): void {
  const type = status === 503 ? 'unavailable_error' : status === 500 ? 'server_error' : 'invalid_request_error';
  const error = { code: status, message, type };
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify({ error }));
}
