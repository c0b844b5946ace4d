import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { sayRefused } from '../capability-notes.js';
import { answerChat, answerCompletion, answerLlamaCompletion } from './completion-routes.js';
import { answerEmbeddings } from './embedding-routes.js';
import { ChildFailure } from '../failure.js';
import { errorBody, HttpError } from './http-error.js';
import { readJson, sendJson, sendText } from './http-io.js';
import type { Service } from '../service.js';
import { describeMetrics, describeModels, describeProps, describeSlots } from './status-routes.js';
import { answerDetokenize, answerTemplate, answerTokenize } from './text-routes.js';

type Read = (service: Service) => object | string;
type Answer = (service: Service, body: unknown, response: ServerResponse) => void | Promise<void>;

const READS: ReadonlyMap<string, Read> = new Map<string, Read>([
  ['/health', () => ({ status: 'ok' })],
  ['/v1/health', () => ({ status: 'ok' })],
  ['/models', describeModels],
  ['/v1/models', describeModels],
  ['/props', describeProps],
  ['/slots', describeSlots],
  ['/metrics', describeMetrics],
]);

const ANSWERS: ReadonlyMap<string, Answer> = new Map<string, Answer>([
  ['/v1/chat/completions', answerChat],
  ['/chat/completions', answerChat],
  ['/v1/completions', answerCompletion],
  ['/completions', answerLlamaCompletion],
  ['/completion', answerLlamaCompletion],
  ['/v1/embeddings', answerEmbeddings],
  ['/embeddings', answerEmbeddings],
  ['/embedding', answerEmbeddings],
  ['/tokenize', answerTokenize],
  ['/detokenize', answerDetokenize],
  ['/apply-template', answerTemplate],
]);

/** Routes of llama-server that this engine has not. */
const MISSING: ReadonlySet<string> = new Set([
  ...[
    '/infill',
    '/rerank',
    '/reranking',
    '/v1/rerank',
    '/v1/reranking',
    '/lora-adapters',
    '/v1/responses',
    '/v1/messages',
  ],
  ...['/v1/messages/count_tokens', '/v1/audio/transcriptions'],
]);

/**
 * Listens before the model is loaded, so that a port in use is known at once; until `service` gives something,
 * every answer is 503. Rejects with ChildFailure when it cannot listen.
 */
export async function listen(host: string, port: number, service: () => Service | null): Promise<Server> {
  const server = createServer((request, response) => {
    handle(request, response, service()).catch((error: unknown) => {
      sendJson(response, error instanceof HttpError ? error.status : 500, errorBody(error));
      // Whatever is left of the request is not worth reading.
      if (!request.complete) response.once('finish', () => request.destroy());
    });
  });
  // A long generation is not a stuck client; the router in front has the limits.
  server.requestTimeout = 0;
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(explainListenError(error, host, port)));
    server.listen(port, host, resolve);
  });
  return server;
}

async function handle(request: IncomingMessage, response: ServerResponse, service: Service | null): Promise<void> {
  const path = (request.url ?? '/').replace(/[?#].*$/su, '');
  const read = READS.get(path);
  const answer = ANSWERS.get(path);
  if (MISSING.has(path)) throw new HttpError(501, sayRefused(path, 'it has no such route'), 'not_supported_error');
  if (read === undefined && answer === undefined) throw new HttpError(404, `There is no ${path}.`, 'not_found_error');
  const method = read === undefined ? 'POST' : 'GET';
  if (request.method !== method) throw new HttpError(405, `${path} takes ${method}, not ${request.method ?? ''}.`);
  if (service === null) throw new HttpError(503, 'Loading model', 'unavailable_error');
  if (read !== undefined) {
    const body = read(service);
    if (typeof body === 'string') sendText(response, 200, 'text/plain; version=0.0.4', body);
    else sendJson(response, 200, body);
    return;
  }
  await answer?.(service, await readJson(request), response);
}

function explainListenError(error: Error, host: string, port: number): ChildFailure {
  const code = 'code' in error ? error.code : null;
  if (code === 'EADDRINUSE') return new ChildFailure('port-in-use', `Port ${port} on ${host} is in use.`);
  return new ChildFailure('bad-arguments', `Cannot listen on port ${port} of ${host}: ${error.message}`);
}
