#!/usr/bin/env node
// A child that speaks llama-server's protocol and misbehaves in the way that its alias names.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { setInterval } from 'node:timers';

const args = process.argv.slice(2);
const valueOf = (name) => args[args.indexOf(name) + 1];

if (args.includes('--help')) {
  console.log('-m,    --model FNAME                    model path to load (env: LLAMA_ARG_MODEL)');
  console.log('-c,    --ctx-size N                     size of the prompt context (env: LLAMA_ARG_CTX_SIZE)');
  process.exit(0);
}
if (args.includes('--list-devices') || args.includes('--version')) process.exit(0);

const [port, alias] = [Number(valueOf('--port')), valueOf('--alias')];
const say = (state, payload) => console.log(`cmd_child_to_router:state:${JSON.stringify({ state, payload })}`);

const server = createServer(async (request, response) => {
  if (request.url === '/health') return response.end('{"status":"ok"}');
  for await (const chunk of request) void chunk;
  // Stopped by the kernel: no answer on any connection, no CPU time.
  if (alias === 'hangs') process.kill(process.pid, 'SIGSTOP');
  if (alias === 'thinks') for (const end = Date.now() + 4000; Date.now() < end;);
  response.writeHead(200, { 'content-type': 'application/json' });
  if (alias === 'lingers') return response.write('{');
  response.end('{"done":true}');
});

function leave() {
  if (alias === 'stubborn') return;
  if (alias === 'lingers') server.close(() => process.exit(0));
  else process.exit(0);
}
process.on('SIGTERM', leave);
process.stdin.on('data', (data) => {
  if (String(data).includes('cmd_router_to_child:exit')) leave();
});
process.stdin.on('end', leave);
if (alias === 'stubborn' || alias === 'stalls') setInterval(() => {}, 1000);

/** Somebody else takes the port, once, after it was chosen. */
async function stealOnce() {
  const marker = `${valueOf('--model')}.thief`;
  if (existsSync(marker)) return;
  const program = `require('net').createServer().listen(${port}, '127.0.0.1', () => console.log('mine'))`;
  const thief = spawn(process.execPath, ['-e', program], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  writeFileSync(marker, String(thief.pid));
  await once(thief.stdout, 'data');
}

/** One of everything that a pipe should not bring, as fast as the pipe takes it, for ever. */
async function* garbage() {
  const prefix = 'cmd_child_to_router:state:';
  yield 'x'.repeat(3 * 2 ** 20);
  yield '\n';
  for (let i = 0; ; i += 1) {
    yield Array.from({ length: 1000 }, (_, n) => `line ${i} ${n} \x1b[2J\x1b]0;title\x07\r`).join('\n') + '\n';
    yield `${prefix}{"state":"loading","payload":{"value":${Math.random()}}}\n`.repeat(50);
    yield `${prefix}{"state":"ready","payload":{"memory":{"devices":[{"name":7}]},"meta":[]}}\n`;
    yield `${prefix}{"state":["ready"],"payload":12}\n${prefix}null\n${prefix}{"state":\n${prefix}\n\n`;
    yield `${prefix}{"state":"measuring","payload":{"result":"measured","min":-1}}\n`;
    yield '\x1b' + ';?'.repeat(50_000) + '\n' + '\r'.repeat(100_000) + 'x\n' + '['.repeat(200_000) + '\n';
    yield Buffer.from([0xff, 0xfe, 0x80, 0x0a]);
    yield 'y'.repeat(2 ** 20);
  }
}

async function pour(stream) {
  for await (const piece of garbage()) if (!stream.write(piece)) await once(stream, 'drain');
}

if (alias === 'steals') await stealOnce();
server.on('error', (error) => {
  console.error(`couldn't bind HTTP server socket, hostname: 127.0.0.1, port: ${port} (${error.code})`);
  process.exit(1);
});
if (alias !== 'stalls') {
  server.listen(port, '127.0.0.1', () => {
    say('loading', { value: 0.5 });
    say('ready', { meta: { n_ctx: 4096 } });
    if (alias === 'pours') void Promise.all([pour(process.stdout), pour(process.stderr)]);
  });
}
