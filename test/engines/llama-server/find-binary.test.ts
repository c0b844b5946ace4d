import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createLlamaServerEngine } from '../../../src/engines/llama-server/engine.js';
import { findLlamaServer } from '../../../src/engines/llama-server/find-binary.js';
import { runProgram } from '../../support/serving.js';
import { isRunning, until } from '../../support/until.js';

const MODEL = '-m,    --model FNAME                    model path to load';

/** A directory with a llama-server that prints the given help. */
function install(help = MODEL, devices = ''): { readonly directory: string; readonly binary: string } {
  const directory = mkdtempSync(join(tmpdir(), 'llama-server-'));
  const binary = join(directory, 'llama-server');
  writeFileSync(join(directory, 'help'), help);
  writeFileSync(join(directory, 'devices'), devices);
  writeFileSync(
    binary,
    `#!/bin/sh\ncase "$1" in --help) cat '${directory}/help' ;; *) cat '${directory}/devices' ;; esac\n`,
  );
  chmodSync(binary, 0o755);
  return { directory, binary };
}

describe.runIf(process.platform !== 'win32')('llama-server is found', () => {
  it('by its path, then by LLAMA_SERVER, then in PATH', async () => {
    const [given, variable, path] = [install(), install(), install()];
    const environment = { LLAMA_SERVER: variable.binary, PATH: ['/nowhere', '', path.directory].join(delimiter) };
    expect(await findLlamaServer(given.binary, environment)).toMatchObject({
      binary: given.binary,
      reason: 'given by --llama-server',
    });
    expect((await findLlamaServer(null, environment))?.binary).toBe(variable.binary);
    const { PATH } = environment;
    expect(await findLlamaServer(null, { PATH })).toMatchObject({ binary: path.binary });
    expect(await findLlamaServer(null, { PATH: '/nowhere' })).toBeNull();
  });

  it('with the options that this very binary has', async () => {
    const help = Array.from({ length: 30 }, (_, index) => `-o${index},   --option-${index} N   this`).join('\n');
    const found = await findLlamaServer(install(`${help}\n${MODEL}`).binary, {});
    expect(found?.options).toHaveLength(31);
    expect(found?.options?.[7]).toMatchObject({ name: 'option-7', aliases: ['o7'], takesValue: true });
  });

  it.each([
    [
      'Available devices:\n  CUDA0: NVIDIA RTX (24 GiB) (24576 MiB, 24000 MiB free)\n  Vulkan1: it (1 MiB, 1 MiB free)\n',
      ['CUDA0', 'Vulkan1'],
    ],
    ['load_backend: loaded\nAvailable devices:\n  (none)\n', []],
    ['error: invalid argument: --list-devices', undefined],
  ])('with the devices that it can use: %j', async (text, devices) => {
    expect((await findLlamaServer(install(MODEL, text).binary, {}))?.devices).toEqual(devices);
  });

  it('with why it sees none of those that it was built for, and asks again once a driver has come up', async () => {
    const words = 'ggml_cuda_init: failed to initialize CUDA: CUDA driver is a stub library';
    const { binary, directory } = install(MODEL, `${words}\nAvailable devices:\n`);
    const found = await findLlamaServer(binary, {});
    expect(found).toMatchObject({ devices: [], blind: words });
    if (found === null) return;
    const engine = createLlamaServerEngine(found);
    writeFileSync(join(directory, 'devices'), 'Available devices:\n  CUDA0: it (1 MiB, 1 MiB free)\n');
    await engine.lookAgain?.();
    expect(engine.devices).toEqual(['CUDA0']);
    expect(await engine.reportDevices?.()).toEqual([{ name: 'CUDA0', totalBytes: 2 ** 20, freeBytes: 2 ** 20 }]);
    writeFileSync(join(directory, 'devices'), 'Available devices:\n');
    await engine.lookAgain?.();
    expect(engine.devices, 'one that sees some is not asked').toEqual(['CUDA0']);
  });

  it('without options when it does not tell them', async () => {
    expect(await findLlamaServer(install(MODEL).binary, {})).not.toHaveProperty('options');
  });

  it.each(['true', 'cat', 'ls', 'false'])('and is not %s, or any other program', async (name) => {
    const file = `/bin/${name}`;
    await expect(findLlamaServer(file, {})).rejects.toThrow(`${file} is no llama-server: it does not name --model`);
  });

  it('and does not keep the start waiting when it never ends, nor leaves anything behind', async () => {
    const { directory, binary } = install();
    const pids = join(directory, 'pids');
    writeFileSync(binary, `#!/bin/sh\necho hi\nsleep 1000 &\necho $$ $! >> '${pids}'\nwait\n`);
    const { code, stderr } = await runProgram(['serve', '--port', '0', '--llama-server', binary], directory);
    expect(stderr).toBe(
      `llm-tui: ${binary} is no llama-server: it has not answered --help for 8 s; give another with --llama-server, or choose --engine.\n`,
    );
    expect(code).toBe(2);
    const started = readFileSync(pids, 'utf8').trim().split(/\s+/u).map(Number);
    expect(started.length).toBeGreaterThanOrEqual(4);
    await until('nothing is left', () => !started.some(isRunning));
  });

  it('or else it is said what is wrong with the path given', async () => {
    const { directory, binary } = install();
    await expect(findLlamaServer('/nowhere/llama-server', {})).rejects.toThrow(
      '--llama-server says /nowhere/llama-server',
    );
    await expect(findLlamaServer(directory, {})).rejects.toThrow(`did you mean ${binary}?`);
    await expect(findLlamaServer(null, { LLAMA_SERVER: directory })).rejects.toThrow('LLAMA_SERVER says');
  });
});
