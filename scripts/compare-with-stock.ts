// Starts a stock llama-server's router on every case of the corpus and says where ours would list other models, or start
// them with other arguments: `node --import ./scripts/typescript.js scripts/compare-with-stock.ts LLAMA_SERVER [--record]`.
// `--record` writes its answers beside the cases, which the tests compare with when there is no llama-server.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { freePort } from '../src/engines/free-port.js';
import { findLlamaServer } from '../src/engines/llama-server/find-binary.js';
import { LLAMA_SERVER_OPTIONS } from '../src/catalog/llama-server-options.js';
import type { OptionTable } from '../src/catalog/option-table.js';
import { corpus, type Laid, layOut, ourAnswer, type StockAnswer, stockModels } from '../test/support/corpus.js';

const START_MILLIS = 20_000;

/** What a router that is started on the case answers, or the last thing that it says before it gives up. */
async function askStock(binary: string, laid: Laid, root: string, options: OptionTable): Promise<StockAnswer> {
  const port = await freePort();
  const sources = [
    ...(laid.presetFile === null ? [] : ['--models-preset', laid.presetFile]),
    ...(laid.modelsDir === null ? [] : ['--models-dir', laid.modelsDir]),
  ];
  const environment = Object.entries(process.env).filter(([name]) => !/^(?:LLAMA_|HF_)/u.test(name));
  const child = spawn(binary, ['--host', '127.0.0.1', '--port', String(port), ...sources], {
    env: { ...Object.fromEntries(environment), LLAMA_CACHE: laid.cache },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (said += text));
  }
  const ended = once(child, 'close');
  try {
    const limit = Date.now() + START_MILLIS;
    while (child.exitCode === null && child.signalCode === null && Date.now() < limit) {
      const response = await fetch(`http://127.0.0.1:${port}/models`).catch(() => null);
      if (response?.ok === true) return { models: stockModels(await response.json(), root, options) };
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const lines = said.split('\n').filter((line) => /\bfailed\b|error:/iu.test(line));
    return {
      refused: (lines.at(-1) ?? said.trim().split('\n').at(-1) ?? '')
        .replaceAll(root, '$ROOT')
        .replace(/^[\d.]+ /u, ''),
    };
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
}

const [binary, ...flags] = process.argv.slice(2);
const found = binary === undefined ? null : await findLlamaServer(binary);
if (found === null) {
  process.stderr.write('Give the path of a llama-server.\n');
  process.exit(2);
}
const options = found.options ?? LLAMA_SERVER_OPTIONS;
let different = 0;
for (const one of corpus()) {
  const root = mkdtempSync(join(tmpdir(), 'llm-tui-stock-'));
  try {
    const laid = layOut(one, root);
    const stock = await askStock(found.binary, laid, root, options);
    const ours = await ourAnswer(laid, root, options);
    if (flags.includes('--record')) writeFileSync(one.answerPath, `${JSON.stringify(stock, null, 2)}\n`);
    if ('models' in stock && isDeepStrictEqual(stock.models, ours.models)) continue;
    different += 1;
    const theirs = 'refused' in stock ? `does not start: ${stock.refused}` : JSON.stringify(stock.models);
    const notices = ours.notices.map((notice) => `\n  we say ${notice}`).join('');
    process.stdout.write(`${one.name}\n  theirs ${theirs}\n  ours   ${JSON.stringify(ours.models)}${notices}\n`);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}
process.stdout.write(`${corpus().length - different} of ${corpus().length} cases are the same\n`);
