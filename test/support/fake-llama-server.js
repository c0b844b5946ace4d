#!/usr/bin/env node
// A child that speaks llama-server's protocol and answers every request with what it got, so that a test can see what
// reaches a child. With --log-file FILE it first logs what stands in that file. Special paths: /v1/embeddings dies, /v1/completions streams odd bytes.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const args = process.argv.slice(2);
const valueOf = (name) => args[args.indexOf(name) + 1];

if (args.includes('--help')) {
  console.log('-m,    --model FNAME                    model path to load (env: LLAMA_ARG_MODEL)');
  console.log('-c,    --ctx-size N                     size of the prompt context (env: LLAMA_ARG_CTX_SIZE)');
  process.exit(0);
}
if (args.includes('--list-devices') || args.includes('--version')) process.exit(0);

const say = (state, payload) => console.log(`cmd_child_to_router:state:${JSON.stringify({ state, payload })}`);
process.stdin.on('data', (data) => {
  if (String(data).includes('cmd_router_to_child:exit')) process.exit(0);
});
process.stdin.on('end', () => process.exit(0));

// Every byte there is, and text cut in the middle of a character.
const ODD_CHUNKS = [
  Buffer.from(Array.from({ length: 256 }, (_, i) => i)),
  Buffer.from('€').subarray(0, 1),
  Buffer.from('€').subarray(1),
];

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  if (request.url.startsWith('/v1/embeddings')) {
    console.error('something terrible happened');
    process.exit(3);
  }
  if (request.url === '/v1/completions') {
    response.writeHead(200, {
      'content-type': 'application/octet-stream',
      'x-odd': 'yes',
      'content-encoding': 'x-unknown',
    });
    for (const chunk of ODD_CHUNKS) {
      response.write(chunk);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    response.end();
    return;
  }
  if (request.url === '/v1/chat/completions' && body.includes('die in the stream')) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: {"first":true}\n\n');
    setTimeout(() => process.exit(4), 50);
    return;
  }
  const seen = {
    method: request.method,
    url: request.url,
    headers: request.rawHeaders,
    body: body.toString('base64'),
    args,
    env: Object.keys(process.env),
  };
  response.writeHead(200, [
    'content-type',
    'application/json',
    'set-cookie',
    'a=1',
    'set-cookie',
    'b=2',
    'connection',
    'x-hop',
    'x-hop',
    '1',
  ]);
  response.end(JSON.stringify(seen));
});
server.listen(Number(valueOf('--port')), '127.0.0.1', () => {
  if (args.includes('--log-file')) process.stderr.write(readFileSync(valueOf('--log-file')));
  say('loading', { value: 0.5 });
  say('ready', { meta: { n_ctx: 4096 } });
});
