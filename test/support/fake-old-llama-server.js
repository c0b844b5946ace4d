#!/usr/bin/env node
// A llama-server from before its router: it never says that it is ready, but answers /health once it is. It takes as
// long as --slot-save-path says, in milliseconds, and dies instead when that is 0.
import { createServer } from 'node:http';

const args = process.argv.slice(2);
if (args.includes('--help')) console.log('-m,    --model FNAME                    model path (env: LLAMA_ARG_MODEL)');
if (!args.includes('--port')) process.exit(0);
const valueOf = (name) => args[args.indexOf(name) + 1];
const millis = Number(valueOf('--slot-save-path'));
if (millis === 0) process.exit(1);

const readyAt = Date.now() + millis;
const server = createServer((request, response) => {
  const ready = Date.now() >= readyAt;
  response.writeHead(ready ? 200 : 503, { 'content-type': 'application/json' });
  response.end(JSON.stringify(ready ? { status: 'ok', url: request.url } : { error: 'Loading model' }));
});
server.listen(Number(valueOf('--port')), '127.0.0.1');
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
