import { gzipSync } from 'node:zlib';
import { Random } from '../../src/simulation/random.js';

const PATHS = [
  ...['/', '/health', '/v1/models', '/models', '/models/sse', '/models/load', '/models/unload', '/props', '/slots'],
  ...['/slots/0', '/slots/x', '/metrics', '/tokenize', '/v1/chat/completions', '/v1/completions', '/v1/embeddings'],
  ...['/v1/messages', '/v1/audio/transcriptions', '/lora-adapters', '/v1/models/a%2Fb', '/v1/models/%ff', '/models/'],
  ...['/supervisor/state', '/supervisor/plan', '/supervisor/logs', '/supervisor/metrics', '/supervisor/nothing'],
  ...['/supervisor/measure', '/supervisor/block', '/supervisor/unblock', '/v1/stream', '/v1/streams/lookup'],
  ...['/../../etc/passwd', '//', '/%2e%2e/', '/v1/../health', '/cors-proxy', 'http://else/health', '*', '/\u00ff'],
];
const METHODS = ['GET', 'POST', 'POST', 'POST', 'DELETE', 'PUT', 'HEAD', 'OPTIONS', 'PATCH', 'TRACE'];
const MODELS = ['small', 'other', 'nobody', '', '__proto__', 'constructor', 'a/b:c d', '\u20ac', '"', 'x'.repeat(3000)];
const QUERIES = [
  '',
  '?',
  '?model=',
  '?model=small',
  '?model=nobody&autoload=false',
  '?model=%',
  '?autoload=1&autoload=0',
];
const HEADERS = [
  'Content-Encoding: gzip',
  'Content-Type: text/plain',
  'Content-Type: multipart/form-data; boundary=b',
  'Content-Type: multipart/form-data; boundary=',
  'Expect: 100-continue',
  'Expect: something-else',
  'X-Conversation-Id: c',
  'Origin: https://somewhere.example',
  'Connection: close, x-odd',
  'Connection: keep-alive',
  'Transfer-Encoding: gzip, chunked',
  'Upgrade: websocket',
  'Authorization: Bearer x',
  `X-Long: ${'y'.repeat(6000)}`,
  'X-Latin: \u00e4\u00ff',
  'Range: bytes=0-1',
  'Host: evil.example',
  'Bad Header: x',
];

/** One request as bytes: mostly nearly right, for what is nearly right gets furthest. */
export function randomRequest(random: Random): Buffer {
  const method = random.pick(METHODS);
  const target = random.pick(PATHS) + random.pick(QUERIES);
  const body = randomBody(random);
  const lines = [`${method} ${target} HTTP/1.1`, 'Host: 127.0.0.1'];
  if (random.chance(0.7)) lines.push('Content-Type: application/json');
  while (random.chance(0.3)) lines.push(random.pick(HEADERS));
  const chunked = random.chance(0.15);
  if (chunked) lines.push('Transfer-Encoding: chunked');
  else if (random.chance(0.95))
    lines.push(`Content-Length: ${random.chance(0.03) ? random.between(0, 1e9) : body.length}`);
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  const whole = Buffer.concat([head, chunked ? inChunks(body, random) : body]);
  if (random.chance(0.05)) whole[random.between(0, whole.length - 1)] = random.between(0, 255);
  return random.chance(0.05) ? whole.subarray(0, random.between(0, whole.length)) : whole;
}

function randomBody(random: Random): Buffer {
  const model = random.pick(MODELS);
  const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
  switch (random.between(0, 9)) {
    case 0:
      return Buffer.alloc(0);
    case 1:
      return json({
        model,
        messages: [{ role: 'user', content: 'x'.repeat(random.between(0, 20_000)) }],
        max_tokens: 1,
      });
    case 2:
      return json({ model, stream: true, max_tokens: random.between(0, 3), messages: [] });
    case 3:
      return json({ model: random.pick([1, null, [], {}, true]), prompt: 'x' });
    case 4:
      return json([model, 1]);
    case 5:
      return gzipSync(json({ model }));
    case 6:
      return Buffer.from(`--b\r\nContent-Disposition: form-data; name="model"\r\n\r\n${model}\r\n--b--\r\n`);
    case 7:
      return Buffer.from(Array.from({ length: random.between(0, 200) }, () => random.between(0, 255)));
    case 8:
      return Buffer.from(`{"model":${'['.repeat(random.between(0, 5000))}`);
    default:
      return json({ model, content: 'x', conversation_ids: [model] });
  }
}

function inChunks(body: Buffer, random: Random): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length;) {
    const size = random.between(1, 4000);
    const part = body.subarray(at, at + size);
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'));
    at += size;
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}
