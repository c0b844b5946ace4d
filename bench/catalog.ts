/**
 * How long a large directory of models takes to read, and for how long at most everything else has to wait meanwhile:
 * `node --import ./scripts/typescript.js bench/catalog.ts [files]`; needs `npm run build`.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { tinyGguf } from '../test/support/tiny-gguf.js';

const built = (path: string): string => pathToFileURL(join(import.meta.dirname, '../dist/src/catalog', path)).href;
const { CatalogReader } = (await import(
  built('catalog-reader.js')
)) as typeof import('../src/catalog/catalog-reader.js');
const { LLAMA_SERVER_OPTIONS } = (await import(
  built('llama-server-options.js')
)) as typeof import('../src/catalog/llama-server-options.js');

const files = Number(process.argv[2] ?? 5000);
const directory = mkdtempSync(join(tmpdir(), 'llm-tui-bench-'));
try {
  const header = tinyGguf();
  for (let count = 0; count < files; count += 1) writeFileSync(join(directory, `model-${count}.gguf`), header);
  const reader = new CatalogReader({
    ...{ modelsDir: directory, presetFile: null, sampleModels: [], commandLine: [] },
    ...{ options: LLAMA_SERVER_OPTIONS, needsModelFile: true, defaults: { stopTimeoutMillis: 10_000 } },
  });
  for (const what of ['the first time', 'and again']) {
    let [worst, last] = [0, performance.now()];
    const look = (): void => {
      const now = performance.now();
      [worst, last] = [Math.max(worst, now - last), now];
    };
    const timer = setInterval(look, 1);
    const [began, cpu] = [performance.now(), process.cpuUsage()];
    const { entries } = await reader.read();
    const took = performance.now() - began;
    const { user, system } = process.cpuUsage(cpu);
    look();
    clearInterval(timer);
    const figures = `${took.toFixed(0)} ms (${((user + system) / 1000).toFixed(0)} ms of CPU), at most ${worst.toFixed(0)} ms without a turn for anybody else`;
    console.log(`${entries.length} models, ${what}: ${figures}`);
  }
} finally {
  rmSync(directory, { recursive: true, force: true });
}
