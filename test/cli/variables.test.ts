import { validateHeaderValue } from 'node:http';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readCors } from '../../src/cli/cors-flags.js';
import { describeProgram } from '../../src/cli/program.js';
import { UsageError } from '../../src/cli/usage-error.js';
import { yesOrNoOf } from '../../src/cli/variables.js';
import { runProgram, serve, temporaryDirectory } from '../support/serving.js';

/** Values on which no supervisor starts, by variable. */
const BAD: Readonly<Record<string, string>> = {
  LLAMA_ARG_MODELS_DIR: '/no/such/dir',
  LLAMA_ARG_MODELS_PRESET: '/no/such.ini',
  LLAMA_ARG_HOST: 'no-host.invalid',
  LLAMA_ARG_PORT: 'abc',
  LLAMA_ARG_API_KEY_FILE: '/no/such/file',
  LLAMA_ARG_SSL_KEY_FILE: '/no/such/key.pem',
  LLAMA_ARG_SSL_CERT_FILE: '/no/such/cert.pem',
  LLAMA_ARG_API_PREFIX: 'llm',
  LLAMA_ARG_STATIC_PATH: '/no/such/page',
  LLAMA_ARG_MODELS_MAX: 'x',
  LLAMA_ARG_MODELS_MEMORY_MARGIN: '-1',
  LLAMA_SERVER: '/no/such/program',
  LLAMA_ARG_TIMEOUT: 'x',
  LLAMA_ARG_CORS_ORIGINS: 'foo bar',
  LLAMA_ARG_CORS_METHODS: 'G ET',
  LLAMA_ARG_CORS_HEADERS: 'x\ny',
  LLAMA_ARG_MODELS_AUTOLOAD: 'banana',
  LLAMA_ARG_CORS_CREDENTIALS: 'FALSE',
  LLAMA_ARG_REUSE_PORT: 'yes',
  HF_ENDPOINT: 'notaurl',
  MODEL_ENDPOINT: 'ftp://host',
};

describe('a bad value from a variable', () => {
  it('is looked for in every variable that stands for a flag of serve', () => {
    const serve = describeProgram().commands.find((command) => command.name() === 'serve');
    const variables = serve?.options.flatMap(({ envVar }) => envVar ?? []) ?? [];
    // A variable without keys in it is how many switch them off.
    expect(variables.filter((name) => BAD[name] === undefined)).toEqual(['LLAMA_API_KEY']);
  });

  it.each(Object.entries(BAD))('%s=%j is refused in one sentence that names the variable', async (name, value) => {
    const other = name === 'LLAMA_ARG_SSL_KEY_FILE' ? 'LLAMA_ARG_SSL_CERT_FILE' : 'LLAMA_ARG_SSL_KEY_FILE';
    const both = name.includes('_SSL_') ? { [other]: '/dev/null' } : {};
    const args = ['serve', ...(name === 'LLAMA_ARG_PORT' ? [] : ['--port', '0'])];
    const engine = name === 'LLAMA_SERVER' ? [] : ['--engine', 'sim'];
    const { code, stdout, stderr } = await runProgram([...args, ...engine], temporaryDirectory(), {
      [name]: value,
      ...both,
    });
    expect(stderr).toContain(name);
    expect(stderr.split('\n')).toHaveLength(2);
    expect(stderr).not.toMatch(/ --[a-z]/u);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });

  it('is still blamed as the flag where the flag has it', async () => {
    const env = { LLAMA_ARG_PORT: '0' };
    const { stderr } = await runProgram(['serve', '--port', 'abc'], temporaryDirectory(), env);
    expect(stderr).toBe("llm-tui: --port takes a whole number from 0 to 65535, not 'abc'.\n");
  });
});

describe("a variable of a flag without a value follows llama-server's rules", () => {
  it.each([
    [{}, null],
    [{ LLAMA_ARG_X: '' }, null],
    [{ LLAMA_ARG_X: 'on' }, true],
    [{ LLAMA_ARG_X: 'enabled' }, true],
    [{ LLAMA_ARG_X: '0' }, false],
    [{ LLAMA_ARG_NO_X: '' }, false],
    [{ LLAMA_ARG_NO_X: 'true', LLAMA_ARG_X: 'banana' }, false],
  ])('%j means %s', (environment, meaning) => {
    expect(yesOrNoOf('LLAMA_ARG_X', environment)).toBe(meaning);
  });
});

describe('what pages are told', () => {
  const nothing = { origins: null, methods: null, headers: null };

  it.each([
    ['origins', ['*', 'localhost', 'null', 'https://example.org', 'http://[::1]:3000, https://example.org:8443']],
    ['methods', ['*', 'GET', 'GET, POST,DELETE']],
    ['headers', ['*', 'Authorization, X-Api-Key']],
  ])('%s may be %j', (which, values) => {
    for (const value of values)
      expect(readCors({ ...nothing, [which]: value }, true)).toMatchObject({ [which]: value });
  });

  it.each([
    ['origins', ['foo bar', 'example.org', 'https://example.org/', 'https://a.org https://b.org', '*\n']],
    ['methods', ['G ET', 'GET,,POST', 'GET\n']],
    ['headers', ['x\ny', 'X-A: b', 'é']],
  ])('%s may not be any of %j', (which, values) => {
    for (const value of values) expect(() => readCors({ ...nothing, [which]: value }, true)).toThrow(UsageError);
  });

  it('can always be said in a header, or is refused', () => {
    const part = fc.oneof(
      fc.constantFrom('*', 'GET', 'https://a.org', ',', ' ', '\n', '\r', '\t', '\0', 'é'),
      fc.string(),
    );
    const value = fc.array(part).map((parts) => parts.join(''));
    const which = fc.constantFrom('origins', 'methods', 'headers');
    fc.assert(
      fc.property(which, value, (name, text) => {
        let policy;
        try {
          policy = readCors({ ...nothing, [name]: text }, true);
        } catch (error) {
          expect(error).toBeInstanceOf(UsageError);
          return;
        }
        for (const said of [policy.origins, policy.methods, policy.headers]) validateHeaderValue('x', said);
      }),
    );
  });
});

describe('a key that a command asks with', () => {
  it('is refused where no request could carry it, and loses the end of the line that it was read with', async () => {
    await using served = await serve('--engine', 'sim', '--api-key', 'sesame');
    const ps = (key: string): ReturnType<typeof runProgram> =>
      runProgram(['ps', served.url], served.directory, { LLAMA_API_KEY: key });
    expect(await ps('ses\name')).toMatchObject({
      code: 2,
      stderr: 'llm-tui: LLAMA_API_KEY has a character in it that no request can carry, such as the end of a line.\n',
    });
    expect(await ps('sesame\n')).toMatchObject({ code: 0, stderr: '' });
  });
});
