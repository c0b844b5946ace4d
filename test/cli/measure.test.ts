import { chmodSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fakeNvidiaSmi } from '../support/fake-nvidia-smi.js';
import { simulated } from '../support/preset.js';
import { runProgram, serve, temporaryDirectory, type Ended } from '../support/serving.js';
import { tempTree } from '../support/temp-tree.js';
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

  describe('of a file that finds no memory', () => {
    const OPTIONS = [
      ...Array.from({ length: 20 }, (_, index) => `--option-${index} N  this`),
      ...['-m, --model FNAME  path', '-c, --ctx-size N  size', '-fitp, --fit-print [on|off]  print'],
    ];
    const TOOL = `#!/bin/sh
      [ "$1" = --help ] && { printf '%s\n' ${OPTIONS.map((line) => `'${line}'`).join(' ')}; exit 0; }
      echo 'ggml_backend_cuda_buffer_type_alloc_buffer: allocating 512.00 MiB on device 0: cudaMalloc failed: out of memory' >&2
      exit 1\n`;

    async function measure(home: string, environment: NodeJS.ProcessEnv = {}): Promise<Ended> {
      const server = `#!/bin/sh\necho '-m, --model FNAME  path'\n`;
      const directory = tempTree({ 'llama-server': server, 'llama-fit-params': TOOL, 'big.gguf': tinyGguf() });
      for (const name of ['llama-server', 'llama-fit-params']) chmodSync(join(directory, name), 0o755);
      const given = ['--llama-server', join(directory, 'llama-server'), '--state-dir', join(home, 'state')];
      return runProgram(['measure', ...given, join(directory, 'big.gguf')], home, environment);
    }

    it('says which models of the running supervisor hold it', async () => {
      await using served = await serve(...simulated('CUDA0=24GiB', { qwen: { 'sim-size': '20GiB' } }));
      await served.post('/models/load', { model: 'qwen' });
      await served.until('it is loaded', ({ models }) => models[0]?.word === 'ready');
      const { code, stdout, stderr } = await measure(served.directory);
      expect(stderr).toMatch(
        /^llm-tui: big could not be measured: out of memory on CUDA0: asked for 512 MiB; CUDA0 has \d\.\d GiB of 24\.0 GiB free, held by qwen 2\d\.\d GiB; unload what is not needed \(llm-tui unload qwen\)$/mu,
      );
      expect(code).toBe(1);
      expect(stdout, 'a guess, since nothing was measured').toMatch(/^MODEL .*\nbig +estimated /u);
    });

    it('says which programs hold it where no supervisor runs', async () => {
      const { file } = fakeNvidiaSmi({
        gpus: 'GPU-a, 00000000:01:00.0, NVIDIA GeForce RTX 3090, 24576, 24000, 300, [N/A], 0, 40, 30',
        apps: `GPU-a, ${2 ** 22 + 99}, 23000`,
      });
      const { stderr } = await measure(temporaryDirectory(), { PATH: `${dirname(file)}:/usr/bin:/bin` });
      expect(stderr).toMatch(
        /; CUDA0 has 300 MiB of 24\.0 GiB free, held by (?:a program \(pid \d+\) 22\.5|other programs 23\.7) GiB; end what is not needed$/mu,
      );
    });

    it('prints no head of a table that has no row', async () => {
      const { stdout, stderr } = await runProgram(
        ['measure', '/dev/null', '--llama-server', CHILD],
        temporaryDirectory(),
      );
      expect([stdout, stderr.split('\n').length]).toEqual(['', 2]);
    });
  });
});
