import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { simulated } from '../support/preset.js';
import { runProgram, serve, temporaryDirectory } from '../support/serving.js';
import { tinyGguf } from '../support/tiny-gguf.js';

const CHILD = resolve(import.meta.dirname, '../support/fake-llama-server.js');

interface Output {
  readonly schema: number;
  readonly models: readonly { readonly model: string; readonly status: string; readonly error: string | null }[];
}

describe('llm-tui measure', () => {
  it('has a running supervisor measure a model again, and prints its memory table', async () => {
    const args = simulated('CUDA0=24GiB', { a: { 'sim-size': '4GiB', 'sim-measure-seconds': 0.1, alias: 'short' } });
    await using served = await serve(...args);
    const { stdout, code } = await runProgram(['measure', 'short', '--url', served.url], served.directory);
    expect(stdout).toMatch(/^MODEL +CONTEXT +DEVICE +WEIGHTS +CACHE +COMPUTE +TOTAL MiB\na .*CUDA0 /u);
    expect(code).toBe(0);
    const json = await runProgram(['measure', 'a', '--json', '--url', served.url], served.directory);
    const output = JSON.parse(json.stdout) as Output;
    expect(output).toMatchObject({ schema: 1, models: [{ model: 'a', status: 'measured', error: null }] });
  });

  it('says of a file that cannot be measured why, with its estimate', async () => {
    const directory = temporaryDirectory();
    const file = join(directory, 'cut.gguf');
    writeFileSync(file, tinyGguf().subarray(0, 100));
    const { stdout, stderr, code } = await runProgram(['measure', file, '--llama-server', CHILD, '--json'], directory);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^llm-tui: cut could not be measured: "cut\.gguf" claims 1 tensors/u);
    expect((JSON.parse(stdout) as Output).models[0]?.status).toBe('failed');
  });

  it.each([
    [['measure'], /missing required argument/u],
    [['measure', '/nowhere/x.gguf'], /There is no file \/nowhere\/x\.gguf/u],
    [['measure', 'model', '-c', '4096'], /-c goes with files only/u],
    [['simulate', 'x.yaml', '--policy', 'lru', '--compare'], /there is no such file|give one of the two/u],
  ])('refuses %j in one sentence', async (args, said) => {
    const { stderr, code } = await runProgram(args, temporaryDirectory());
    expect(code).toBe(2);
    expect(stderr).toMatch(said);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });
});
