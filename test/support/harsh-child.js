#!/usr/bin/env node
// A child that speaks llama-server's protocol and behaves as real servers do at their worst, by path:
//   /tokenize                 answers once on each connection, and drops it when it is written to again
//   /v1/completions           sends as much as it can for as long as it can
//   /detokenize               never answers
//   /v1/responses             answers in chunks, with a trailer
//   /v1/embeddings            takes a body and says how long it was and what its hash is
//   /v1/messages              answers as Anthropic's API
//   GET /slots                what it has seen so far
// Upgrades: it sends back what it gets; "die" ends the process; /ws speaks WebSocket.
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocketServer } from 'ws';

const args = process.argv.slice(2);
const valueOf = (name) => args[args.indexOf(name) + 1];

if (args.includes('--help')) {
  console.log('-m,    --model FNAME                    model path to load (env: LLAMA_ARG_MODEL)');
  process.exit(0);
}
if (args.includes('--list-devices') || args.includes('--version')) process.exit(0);

const say = (state, payload) => console.log(`cmd_child_to_router:state:${JSON.stringify({ state, payload })}`);
process.stdin.on('data', (data) => {
  if (String(data).includes('cmd_router_to_child:exit')) process.exit(0);
});
process.stdin.on('end', () => process.exit(0));

const seen = { answered: 0, dropped: 0, floodedBytes: 0, flooding: 0, waiting: 0, upgrades: 0, headers: [] };
const requestsOf = new WeakMap();
const BLOCK = Buffer.alloc(256 * 1024, 'x');

function sendJson(response, value) {
  const text = JSON.stringify(value);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }).end(text);
}

async function flood(response) {
  seen.flooding += 1;
  response.once('close', () => (seen.flooding -= 1));
  response.writeHead(200, { 'content-type': 'application/octet-stream' });
  while (!response.destroyed && seen.floodedBytes < 512 * 1024 * 1024) {
    seen.floodedBytes += BLOCK.length;
    if (response.write(BLOCK)) continue;
    await new Promise((resolve) => response.once('drain', resolve).once('close', resolve));
  }
  response.end();
}

async function speak(response, body) {
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: body.model, stop_sequence: null };
  const usage = { input_tokens: 1, output_tokens: 2 };
  if (body.stream !== true) {
    const content = [{ type: 'text', text: 'Hello there' }];
    sendJson(response, { ...message, content, stop_reason: 'end_turn', usage });
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = (type, rest) => response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`);
  send('message_start', { message: { ...message, content: [], stop_reason: null, usage } });
  send('content_block_start', { index: 0, content_block: { type: 'text', text: '' } });
  for (const text of ['Hello', ' there']) {
    send('content_block_delta', { index: 0, delta: { type: 'text_delta', text } });
    await sleep(5);
  }
  if (body.system === 'die') process.exit(5);
  send('content_block_stop', { index: 0 });
  send('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage });
  send('message_stop', {});
  response.end();
}

const server = createServer(async (request, response) => {
  const { socket, url } = request;
  const path = url.replace(/\?.*/, '');
  const before = requestsOf.get(socket) ?? 0;
  requestsOf.set(socket, before + 1);
  if (path === '/tokenize' && before > 0) {
    seen.dropped += 1;
    socket.destroy();
    return;
  }
  if (path === '/slots') return sendJson(response, seen);
  if (path === '/detokenize') {
    seen.waiting += 1;
    response.once('close', () => (seen.waiting -= 1));
    request.resume();
    return;
  }
  const chunks = [];
  try {
    for await (const chunk of request) chunks.push(chunk);
  } catch {
    return;
  }
  const body = Buffer.concat(chunks);
  seen.headers = request.rawHeaders;
  seen.answered += 1;
  if (path === '/v1/completions') return flood(response);
  if (path === '/v1/messages') return speak(response, JSON.parse(body));
  if (path === '/v1/responses') {
    response.writeHead(200, { 'content-type': 'text/plain', trailer: 'X-Digest' });
    response.write('one ');
    response.write('two');
    response.addTrailers({ 'X-Digest': 'abc' });
    response.end();
    return;
  }
  const hash = createHash('sha256').update(body).digest('hex');
  sendJson(response, { answered: seen.answered, bytes: body.length, hash });
});
server.requestTimeout = 0;
const webSockets = new WebSocketServer({ noServer: true });
server.on('upgrade', (request, socket, head) => {
  if (request.url.startsWith('/ws')) {
    webSockets.handleUpgrade(request, socket, head, (webSocket) => {
      webSocket.on('message', (data, isBinary) => webSocket.send(data, { binary: isBinary }));
    });
    return;
  }
  seen.upgrades += 1;
  seen.headers = request.rawHeaders;
  socket.on('error', () => undefined);
  socket.once('close', () => (seen.upgrades -= 1)).once('end', () => socket.end());
  const { upgrade } = request.headers;
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: ${upgrade}\r\nConnection: Upgrade\r\n\r\n`);
  if (head.length > 0) socket.write(head);
  socket.on('data', (data) => {
    if (String(data) === 'die') process.exit(6);
    socket.write(data);
  });
});
server.listen(Number(valueOf('--port')), '127.0.0.1', () => say('ready', { meta: { n_ctx: 4096 } }));
