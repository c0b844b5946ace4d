#!/usr/bin/env node
// A child of llama-server's protocol that is ready after a random moment, and answers at once with the times of it all.
import { createServer } from 'node:http';
import { performance } from 'node:perf_hooks';

const args = process.argv.slice(2);
if (args.includes('--help')) {
  console.log('-m,    --model FNAME                    model path to load (env: LLAMA_ARG_MODEL)');
  process.exit(0);
}
if (args.includes('--list-devices') || args.includes('--version')) process.exit(0);

const now = () => performance.timeOrigin + performance.now();
const startedAt = now();
let readyAt = 0;
const server = createServer((request, response) => {
  const askedAt = now();
  request.resume();
  response.writeHead(200, { 'content-type': 'application/json' });
  response.write(JSON.stringify({ startedAt, readyAt, askedAt, answeredAt: now() }));
  response.end();
});
process.stdin.on('data', () => process.exit(0));
process.stdin.on('end', () => process.exit(0));
server.listen(Number(args[args.indexOf('--port') + 1]), '127.0.0.1', () => {
  setTimeout(() => {
    readyAt = now();
    process.stdout.write('cmd_child_to_router:state:{"state":"ready","payload":{"meta":{"n_ctx":4096}}}\n');
  }, Math.random() * 1000);
});
