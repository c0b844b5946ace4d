import { createServer } from 'node:net';
import { once } from 'node:events';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LAUNCHER, runProgram, serve, temporaryDirectory, testEnvironment, type Ended } from '../support/serving.js';
import { simulated, writePreset } from '../support/preset.js';

/** One line on stderr, no stack trace. */
function expectOneSentence(stderr: string, words: RegExp): void {
  expect(stderr).toMatch(words);
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  expect(stderr).not.toMatch(/^\s+at /mu);
  expect(stderr).not.toContain('\u001b');
}

describe('mistakes on the command line get one clear sentence', () => {
  it.each([
    { mistake: 'an unknown flag', args: ['--no-such-flag'], words: /--no-such-flag is neither a flag of llm-tui nor/u },
    { mistake: 'a flag that is nearly right', args: ['--models-dri', '/tmp'], words: /did you mean --models-dir\?/u },
    { mistake: 'a directory that does not exist', args: ['--models-dir', '/no/such/dir'], words: /\/no\/such\/dir/u },
    { mistake: 'a preset that does not exist', args: ['--models-preset', '/no/such.ini'], words: /\/no\/such\.ini/u },
    { mistake: 'a port that is none', args: ['--port', 'eighty'], words: /--port takes a whole number/u },
    {
      mistake: 'an engine that is none',
      args: ['--engine', 'magic'],
      words: /Allowed choices are auto, llama-server/u,
    },
    {
      mistake: 'simulated devices without sizes',
      args: ['--engine', 'sim', '--sim-devices', 'CUDA0'],
      words: /CUDA0=24GiB/u,
    },
    {
      mistake: 'a missing llama-server',
      args: ['--llama-server', '/no/such/binary'],
      words: /\/no\/such\/binary, which is no program/u,
    },
    { mistake: 'a key that is empty', args: ['--api-key', ''], words: /--api-key is empty/u },
    { mistake: 'a file without keys', args: ['--api-key-file', '/dev/null'], words: /has no key in it/u },
    {
      mistake: 'a word that is no command, with control sequences in it',
      args: ['fro\u001b[31mb'],
      words: /'fro\\e\[31mb' is neither a command nor a flag/u,
    },
    {
      mistake: 'a word that is no command',
      args: ['frobnicate'],
      words: /'frobnicate' is neither a command nor a flag/u,
    },
  ])('$mistake', async ({ args, words }) => {
    const directory = temporaryDirectory();
    const { code, stderr } = await runProgram(['serve', '--port', '0', ...args], directory);
    expectOneSentence(stderr, words);
    expect(stderr, 'one sentence has one end').not.toMatch(/[.,;:][,;:]|\.\./u);
    expect(code).toBe(2);
  });

  it.each([
    { args: ['frobnicate'], words: /'frobnicate' is neither a command nor a flag; see llm-tui --help/u },
    { args: ['loda', 'model'], words: /'loda' is neither a command nor a flag; did you mean llm-tui load\?/u },
    { args: ['--port', '0', 'stpo'], words: /did you mean llm-tui stop\?/u },
    { args: ['serve', 'lod'], words: /did you mean llm-tui load\?/u },
    { args: ['--engine', 'sim', '--ctx-size', '4096', 'attahc'], words: /did you mean llm-tui attach\?/u },
    { args: ['--engine', 'sim', '--no-such-flag'], words: /--no-such-flag is neither/u },
    { args: ['lod', '--port', 'eighty'], words: /did you mean llm-tui load\?/u },
  ])('$args is refused before anything is said or opened', async ({ args, words }) => {
    const directory = temporaryDirectory();
    const { code, stdout, stderr } = await runProgram(args, directory);
    expectOneSentence(stderr, words);
    expect({ code, stdout, opened: readdirSync(directory) }).toEqual({ code: 2, stdout: '', opened: [] });
  });

  it('a port that is in use', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const args = ['serve', '--port', String(port), '--engine', 'sim'];
    const { code, stderr } = await runProgram(args, temporaryDirectory());
    other.close();
    expectOneSentence(stderr, new RegExp(`Port ${port} on 127.0.0.1 is in use`, 'u'));
    expect(code).toBe(1);
  });

  it('a second supervisor for the same state directory', async () => {
    await using served = await serve('--engine', 'sim');
    const args = ['serve', '--port', '0', '--engine', 'sim', '--state-dir', served.stateDirectory];
    const { code, stderr } = await runProgram(args, served.directory);
    expectOneSentence(stderr, /A supervisor is already running for .*; use llm-tui attach/u);
    expect(code).toBe(1);
  });

  it.skipIf(process.platform === 'win32').each([
    { how: 'another runtime directory', elsewhere: true },
    { how: 'a runtime directory that was emptied', elsewhere: false },
  ])('a supervisor that is out of reach: $how', async ({ elsewhere }) => {
    await using served = await serve('--engine', 'sim');
    const { pid } = (await served.snapshot()).supervisor;
    if (!elsewhere) rmSync(join(served.directory, 'llm-tui'), { recursive: true });
    const environment = elsewhere ? { XDG_RUNTIME_DIR: temporaryDirectory() } : {};
    const known = ['--state-dir', served.stateDirectory];
    for (const args of [['ps'], ['stop'], ['serve', '--port', '0', '--engine', 'sim']]) {
      const { code, stderr } = await runProgram([...args, ...known], served.directory, environment);
      expectOneSentence(
        stderr,
        new RegExp(`A supervisor \\(pid ${pid}\\) has .*; reach it with --url, or end it with`, 'u'),
      );
      expect(code).toBe(1);
    }
    expect((await runProgram(['ps', '--url', served.url], served.directory, environment)).code).toBe(0);
  });

  it('a supervisor that is stopped', async () => {
    await using served = await serve('--engine', 'sim');
    served.process.kill('SIGSTOP');
    const { code, stderr } = await runProgram(['ps', '--state-dir', served.stateDirectory], served.directory);
    served.process.kill('SIGCONT');
    expectOneSentence(stderr, /has not answered for 5 s/u);
    expect(code).toBe(1);
  });

  it('a model that cannot be loaded', async () => {
    await using served = await serve(
      ...simulated('CUDA0=24GiB', { good: { 'sim-size': '1GiB' }, bad: { 'sim-size': 'x' } }),
    );
    const load = (model: string): Promise<Ended> =>
      runProgram(['load', model, '--state-dir', served.stateDirectory], served.directory);
    expect(await load('good')).toMatchObject({ code: 0, stdout: 'good is ready\n' });
    const { code, stderr } = await load('bad');
    expectOneSentence(
      stderr,
      /cannot be loaded: its option --sim-size takes a size like 8GiB, not "x"; .*models\.ini:4$/mu,
    );
    expect(code).toBe(1);
  });

  it('a state directory on a file system that is read-only', async ({ skip }) => {
    const directory = temporaryDirectory();
    const script = 'mount -t tmpfs -o ro,mode=755 none "$0" && exec "$@"';
    const args = ['-rm', 'sh', '-c', script, directory, process.execPath, LAUNCHER, 'serve', '--state-dir', directory];
    const child = spawn('unshare', args, {
      env: testEnvironment(temporaryDirectory()),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.on('error', () => undefined);
    const [code] = (await once(child, 'close')) as [number];
    if (/^(?:unshare|mount):|^$/u.test(stderr)) skip();
    expectOneSentence(stderr, /cannot be kept from other users \(its file system is read-only\); choose another/u);
    expect(code).toBe(2);
  });

  it('a word too many, and an address that is none', async () => {
    await using served = await serve('--engine', 'sim');
    const at = ['--state-dir', served.stateDirectory];
    const stop = await runProgram(['stop', 'one-model', ...at], served.directory);
    expectOneSentence(stop.stderr, /too many arguments/u);
    expect(stop.code).toBe(2);
    expect((await fetch(`${served.url}/health`)).status, 'nothing was stopped').toBe(200);
    const ps = await runProgram(['ps', 'nonsense'], served.directory);
    expectOneSentence(ps.stderr, /'nonsense' is no address of a supervisor/u);
    expect(ps.code).toBe(2);
  });

  it('unloading what is pinned', async () => {
    await using served = await serve(...simulated('CUDA0=24GiB', { a: { 'sim-size': '1GiB' } }));
    const at = ['--state-dir', served.stateDirectory];
    await runProgram(['pin', 'a', ...at], served.directory);
    const { code, stderr } = await runProgram(['unload', 'a', ...at], served.directory);
    expectOneSentence(stderr, /'a' is pinned and would come back at once; unpin it first/u);
    expect(code).toBe(1);
  });

  it('a reader that has seen enough', async () => {
    const scenario = resolve(import.meta.dirname, '../../scenarios/three-gpus.yaml');
    const child = spawn(process.execPath, [LAUNCHER, 'simulate', scenario, '--decisions', '--json'], {
      env: testEnvironment(temporaryDirectory()),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.stdout.once('data', () => child.stdout.destroy());
    await once(child, 'exit');
    expect(stderr).toBe('');
  });

  it('a key that is missing', async () => {
    await using served = await serve('--engine', 'sim', '--api-key', 'sesame');
    const ps = (...more: string[]): Promise<Ended> => runProgram(['ps', served.url, ...more], served.directory);
    expectOneSentence((await ps()).stderr, /wants an API key: give one with --api-key/u);
    expect((await ps('--api-key', 'sesame')).code).toBe(0);
  });

  it('a command without a supervisor to talk to', async () => {
    const directory = temporaryDirectory();
    const { code, stderr } = await runProgram(['ps', '--state-dir', directory], directory);
    expectOneSentence(stderr, /No supervisor is running for/u);
    expect(code).toBe(1);
  });
});

describe('a command that was asked for JSON answers with JSON when it fails', () => {
  it.each([
    { mistake: 'an unknown model', args: ['load', 'nosuchmodel'], code: 'model_not_found', exitCode: 1 },
    { mistake: 'an unknown model to plan for', args: ['plan', 'nosuchmodel'], code: 'model_not_found', exitCode: 1 },
    { mistake: 'an unknown model to measure', args: ['measure', 'nosuchmodel'], code: 'failed', exitCode: 1 },
    { mistake: 'a state that does not allow it', args: ['park', 'a'], code: 'refused', exitCode: 1 },
    { mistake: 'an unknown flag', args: ['ps', '--jsn'], code: 'usage', exitCode: 2 },
    { mistake: 'a word too many', args: ['cancel', 'a', 'b'], code: 'usage', exitCode: 2 },
    { mistake: 'an address that is none', args: ['ps', 'nonsense'], code: 'usage', exitCode: 2 },
    { mistake: 'a file that is not there', args: ['replay', '/no/such/journal'], code: 'failed', exitCode: 1 },
    { mistake: 'a scenario that is not there', args: ['simulate', '/no/such.yaml'], code: 'usage', exitCode: 2 },
    { mistake: 'nobody to talk to', args: ['ps', '--state-dir', '/no/such/dir'], code: 'no_supervisor', exitCode: 1 },
  ])('$mistake', async ({ args, code, exitCode }) => {
    await using served = await serve(...simulated('CUDA0=24GiB', { a: { 'sim-size': '1GiB' } }));
    const state = ['replay', 'simulate', 'ps'].includes(args[0] ?? '') ? [] : ['--state-dir', served.stateDirectory];
    const ended = await runProgram([...args, '--json', ...state], served.directory);
    const { schema, error } = JSON.parse(ended.stdout) as { schema: number; error: { code: string; message: string } };
    expect({ schema, code: error.code, exitCode: ended.code }).toEqual({ schema: 1, code, exitCode });
    expect(ended.stderr).toBe(`llm-tui: ${error.message}\n`);
  });
});

describe('a name that no model has', () => {
  it('is answered with the names that are near, or with the command that lists them', async () => {
    await using served = await serve(...simulated('CUDA0=24GiB', { alphabet: { 'sim-size': '1GiB' } }));
    const at = ['--state-dir', served.stateDirectory];
    for (const command of ['load', 'unload', 'pin', 'cancel', 'plan', 'logs', 'measure']) {
      const near = await runProgram([command, 'alpabet', ...at], served.directory);
      expectOneSentence(near.stderr, /did you mean alphabet\?/u);
      const far = await runProgram([command, 'nothing-like-it', ...at], served.directory);
      expectOneSentence(far.stderr, /llm-tui ps lists the models that there are/u);
      expect([near.code, far.code]).toEqual([1, 1]);
    }
  });
});

describe('mistakes in files take nothing else down', () => {
  it('a broken line in a preset is a notice with its place', async () => {
    const [, , , , , preset] = simulated('CUDA0=24GiB', { good: { 'sim-size': '4GiB' } });
    writeFileSync(preset, `[good]\nsim-size = 4GiB\nthis is no line\n[bad]\nno-such-key = 1\n`);
    await using served = await serve('--engine', 'sim', '--models-preset', preset);
    const { models, supervisor } = await served.snapshot();
    expect(models.map(({ id }) => id)).toEqual(['good']);
    expect(supervisor.notices.join('\n')).toContain(`${preset}:3:`);
    expect(supervisor.notices.join('\n')).toContain('no-such-key');
  });

  it('an empty model file is an invalid entry, and a request for it says why', async () => {
    const directory = join(temporaryDirectory(), 'models');
    mkdirSync(directory);
    writeFileSync(join(directory, 'empty.gguf'), '');
    await using served = await serve('--engine', 'embedded', '--models-dir', directory);
    const { models } = await served.snapshot();
    expect(models).toMatchObject([{ id: 'empty', word: 'invalid' }]);
    const reply = await served.post('/v1/completions', { model: 'empty', prompt: 'x' });
    expect(reply.status).toBe(503);
    expect(await reply.text()).toContain('empty');
  });

  it('no models at all is no mistake', async () => {
    await using served = await serve('--engine', 'sim', '--models-preset', writePreset({}));
    expect((await served.snapshot()).models).toEqual([]);
    expect((await fetch(`${served.url}/health`)).status).toBe(200);
  });
});
