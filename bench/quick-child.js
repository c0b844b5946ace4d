#!/usr/bin/env node
// A child that answers at once and does as little as it can: what a benchmark of the router measures is the router.
// It speaks llama-server's protocol, so that it can be a child, and serves as well when it is started by hand.
import { createServer } from 'node:net';

const args = process.argv.slice(2);
if (args.includes('--help')) {
  console.log('-m,    --model FNAME                    model path to load (env: LLAMA_ARG_MODEL)');
  process.exit(0);
}
if (args.includes('--list-devices') || args.includes('--version')) process.exit(0);

const TOKENS = 250;
const TOKEN_MILLIS = 20;

const headersOf = (type, rest) => `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\n${rest}\r\n\r\n`;
const small = Buffer.from(JSON.stringify({ tokens: Array.from({ length: 16 }, (_, i) => i) }));
const smallReply = Buffer.concat([
  Buffer.from(headersOf('application/json', `Content-Length: ${small.length}`)),
  small,
]);
const streamHead = headersOf('text/event-stream', 'Transfer-Encoding: chunked');

const chunked = (text) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

/** Fifty events a second, each with the time at which it was written, in microseconds. */
function stream(socket) {
  socket.write(streamHead);
  let sent = 0;
  const timer = setInterval(() => {
    const at = process.hrtime.bigint() / 1000n;
    if (sent < TOKENS) socket.write(chunked(`data: {"at":"${at}","choices":[{"delta":{"content":" token"}}]}\n\n`));
    else socket.write(`${chunked('data: [DONE]\n\n')}0\r\n\r\n`);
    if (sent === TOKENS) clearInterval(timer);
    sent += 1;
  }, TOKEN_MILLIS);
  socket.once('close', () => clearInterval(timer));
}

createServer({ noDelay: true }, (socket) => {
  let head = '';
  let missing = 0;
  let streams = false;
  const answer = () => (streams ? stream(socket) : socket.write(smallReply));
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => {
    if (missing > 0) {
      missing -= chunk.length;
      if (missing === 0) answer();
      return;
    }
    head += chunk.toString('latin1');
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) return;
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
    streams = head.startsWith('POST /v1/chat/completions');
    missing = length - (head.length - end - 4);
    head = '';
    if (missing === 0) answer();
  });
}).listen(Number(args[args.indexOf('--port') + 1]), '127.0.0.1', () => {
  console.log(`cmd_child_to_router:state:${JSON.stringify({ state: 'ready', payload: { meta: { n_ctx: 4096 } } })}`);
});
if (args.includes('--alias')) {
  process.stdin.on('data', () => process.exit(0));
  process.stdin.on('end', () => process.exit(0));
}
