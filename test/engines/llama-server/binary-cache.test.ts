import { chmodSync, existsSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { BinaryCache } from '../../../src/engines/llama-server/binary-cache.js';
import { findLlamaServer, type FoundBinary } from '../../../src/engines/llama-server/find-binary.js';
import { writeAtomically } from '../../../src/supervisor/write-atomically.js';
import { tempTree } from '../../support/temp-tree.js';

const HELP = [
  '-m,    --model FNAME                    model path to load',
  ...Array.from({ length: 30 }, (_, index) => `-o${index},   --option-${index} N   this (env: OPTION_${index})`),
  '-fitp, --fit-print [on|off]             print the estimated required memory',
  '--thing, --no-thing, -nt                a flag',
].join('\n');

/** A llama-server and its tool that note down what they were asked. */
function install(devices = 'Available devices:\n  CUDA0: it (1 MiB, 1 MiB free)') {
  const program = `#!/bin/sh\nhere=$(dirname "$0")\necho "$(basename "$0") $1" >> "$here/asked"\ncase "$1" in --help) cat "$here/help" ;; *) cat "$here/devices" ;; esac\n`;
  const directory = tempTree({ 'llama-server': program, 'llama-fit-params': program, help: HELP, devices });
  for (const name of ['llama-server', 'llama-fit-params']) chmodSync(join(directory, name), 0o755);
  const path = join(directory, 'binaries.json');
  return {
    directory,
    path,
    binary: join(directory, 'llama-server'),
    /** As at the start of a program: what comes of it, and what the binaries were asked meanwhile. */
    async start(environment: Readonly<Record<string, string>> = {}) {
      writeFileSync(join(directory, 'asked'), '');
      const cache = await BinaryCache.open(path);
      const found = await findLlamaServer(join(directory, 'llama-server'), environment, cache);
      await cache.save(writeAtomically);
      const asked = readFileSync(join(directory, 'asked'), 'utf8').trim().split('\n').filter(Boolean).sort();
      return { found: found as FoundBinary, asked };
    },
  };
}

const ALL = ['llama-fit-params --help', 'llama-server --help', 'llama-server --list-devices'];

describe.runIf(process.platform === 'linux')('what a binary says of itself', () => {
  it('is asked once, and known at the next start', async () => {
    const installed = install();
    const first = await installed.start();
    expect(first.asked).toEqual(ALL);
    const second = await installed.start();
    expect(second.asked).toEqual([]);
    expect(second.found).toEqual(first.found);
    expect(second.found.options).toContainEqual({
      name: 'thing',
      aliases: [],
      takesValue: false,
      negatable: true,
      env: null,
      negatedAliases: ['nt'],
    });
  });

  it('is asked again when the file is another', async () => {
    const installed = install();
    await installed.start();
    utimesSync(installed.binary, 1, 1);
    expect((await installed.start()).asked).toEqual(ALL.slice(1));
  });

  it('is asked again of its devices where others may be seen', async () => {
    const installed = install();
    await installed.start();
    expect((await installed.start({ CUDA_VISIBLE_DEVICES: '1' })).asked).toEqual(['llama-server --list-devices']);
    expect((await installed.start({ CUDA_VISIBLE_DEVICES: '1' })).asked).toEqual([]);
  });

  it('is asked again of its devices as long as it has none: a driver may come up late', async () => {
    const installed = install('Available devices:\n  (none)\n');
    expect((await installed.start()).found.devices).toEqual([]);
    expect((await installed.start()).asked).toEqual(['llama-server --list-devices']);
  });

  it.each(['', '{"version":1', '{"version":9,"programs":{}}', '{"version":1,"programs":{"x":{"options":3}}}'])(
    'is asked again when the file that keeps it is %j',
    async (text) => {
      const installed = install();
      writeFileSync(installed.path, text);
      expect((await installed.start()).asked).toEqual(ALL);
      expect((await installed.start()).asked).toEqual([]);
    },
  );

  it('is not kept when it is nothing, nor where it cannot be', async () => {
    const installed = install();
    writeFileSync(join(installed.directory, 'help'), 'cannot open shared object file');
    await expect(installed.start()).rejects.toThrow('is no llama-server: it does not name --model');
    expect(existsSync(installed.path)).toBe(false);
    writeFileSync(join(installed.directory, 'help'), '--model FNAME and nothing else');
    await installed.start();
    expect(existsSync(installed.path)).toBe(false);
    const nowhere = await BinaryCache.open('/nowhere/binaries.json');
    const facts = { options: [], bufferVerbosity: null, measureRole: false, announcesReady: true, devices: null };
    nowhere.put('a build', facts);
    await expect(nowhere.save(writeAtomically)).resolves.toBeUndefined();
  });
});
