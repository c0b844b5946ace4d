import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Snapshot } from '../../src/client/types.js';
import { formatProtocolLine } from '../../src/engines/protocol.js';
import { journalFiles } from '../../src/journal/files.js';
import { readJournal } from '../../src/journal/read.js';
import { replay, type ReplayResult } from '../../src/journal/replay.js';
import { project } from '../../src/scheduler/project.js';
import { runProgram, serve, temporaryDirectory, type Served } from '../support/serving.js';
import { simulated, writePreset } from '../support/preset.js';
import { until } from '../support/until.js';
import { tinyGguf } from '../support/tiny-gguf.js';

const MODELS = {
  alpha: { 'sim-size': '8GiB', 'sim-load-seconds': 0.1 },
  beta: { 'sim-size': '12GiB', 'sim-load-seconds': 0.1 },
  gamma: { 'sim-size': '16GiB', 'sim-load-seconds': 0.1 },
};

const ask = (served: Served, model: string): Promise<Response> =>
  served.post('/v1/chat/completions', { model, max_tokens: 3, messages: [{ role: 'user', content: 'hello' }] });

function journalOf({ stateDirectory }: Pick<Served, 'stateDirectory'>): string {
  const files = journalFiles(join(stateDirectory, 'journal'));
  expect(files).toHaveLength(1);
  return files[0] ?? '';
}

/** What the scheduler alone knows of a snapshot, as text. */
function schedulerPart(snapshot: Snapshot): string {
  const { schema: _, supervisor: __, outOfMemory: ___, requests: ____, models, ...rest } = snapshot;
  const bare = models.map(({ origin: _____, ...model }) => ({
    ...model,
    lastExit: model.lastExit && { ...model.lastExit, lastLines: null },
  }));
  return sorted({ ...rest, models: bare });
}

/** JSON with its keys in order: how a snapshot was put together is of no interest here. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/** The journal as it is on disk, played again, and the states that it came through, by their times. */
function replayed(served: Served): { states: ReadonlyMap<number, readonly string[]>; result: ReplayResult } {
  const states = new Map<number, string[]>();
  const result = replay(readJournal(journalOf(served)), {
    onTurn: ({ state }) => {
      const snapshot = project(state) as unknown as Snapshot;
      states.set(state.now, [...(states.get(state.now) ?? []), schedulerPart(snapshot)]);
    },
  });
  return { states, result };
}

describe('the journal of a real supervisor', () => {
  it('gives the same decisions and the states that were seen, after requests, evictions and two kills', async () => {
    await using served = await serve(...simulated('CUDA0=24GiB', MODELS));
    const seen: Snapshot[] = [];
    for (const model of ['alpha', 'beta', 'gamma', 'alpha']) {
      await Promise.all([ask(served, model), ask(served, model)]);
      seen.push(await served.snapshot());
    }
    const { pid } = seen.at(-1)?.models.find(({ id }) => id === 'alpha') ?? {};
    process.kill(pid ?? 0, 'SIGKILL');
    await served.until('the death is seen', ({ models }) =>
      models.find(({ lastExit }) => lastExit?.exitClass === 'killed'),
    );
    await served.post('/supervisor/pin', { model: 'beta' });
    await served.until('beta is ready', ({ models }) =>
      models.find(({ id, word }) => id === 'beta' && word === 'ready'),
    );
    const last = await served.snapshot();
    seen.push(last);
    // What decides nothing is written a moment later; a kill before that would lose it.
    await until('it is written', () => replayed(served).states.has(last.at));
    served.process.kill('SIGKILL');
    await once(served.process, 'exit');

    const { states, result } = replayed(served);
    expect(result).toMatchObject({ divergence: null, sameEnd: null });
    expect(result.verified).toBeGreaterThan(10);
    expect(result.decisions.evict).toBeGreaterThan(0);
    for (const snapshot of seen) expect(states.get(snapshot.at)).toContain(schedulerPart(snapshot));
  });

  it('ends with the last state, and llm-tui replay says so', async () => {
    await using served = await serve(...simulated('CUDA0=24GiB', MODELS));
    for (const model of ['alpha', 'gamma']) expect((await ask(served, model)).status).toBe(200);
    served.process.kill('SIGTERM');
    await once(served.process, 'exit');
    const path = journalOf(served);
    expect(replay(readJournal(path))).toMatchObject({ divergence: null, sameEnd: true, unfinished: false });

    const { code, stdout, stderr } = await runProgram(['replay', served.stateDirectory], served.directory);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(stdout).toMatch(/ evict {4}alpha for gamma: /u);
    expect(stdout).toMatch(
      /As recorded: the decisions of all \d+ turns that made any are the same, and so is the last/u,
    );

    const args = ['replay', path, '--policy', 'cost', '--json'];
    const other = JSON.parse((await runProgram(args, served.directory)).stdout) as object;
    expect(other).toMatchObject({
      recorded: { policy: 'lru', divergence: null, sameEnd: true },
      other: { policy: 'cost', counterfactual: true },
      difference: null,
    });
  });

  it.runIf(process.platform !== 'win32')('never holds keys, prompts, bodies, environment or output', async () => {
    const [key, prompt, variable] = ['a-key-of-ours', 'a-prompt-of-theirs', 'a-value-of-the-environment'];
    const directory = temporaryDirectory();
    const program = join(directory, 'llama-server');
    writeFileSync(program, `#!${process.execPath}\n${TALKATIVE}`);
    chmodSync(program, 0o755);
    const model = join(directory, 'tiny.gguf');
    writeFileSync(model, tinyGguf());
    process.env['JOURNAL_TEST'] = variable;
    const preset = writePreset({ tiny: { model, 'ctx-size': 512 } });
    const engine = ['--engine', 'llama-server', '--llama-server', program, '--models-preset', preset];
    await using served = await serve(...engine, '--api-key', key);
    delete process.env['JOURNAL_TEST'];

    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ model: 'tiny', prompt });
    await fetch(`${served.url}/v1/completions`, { method: 'POST', headers, body });
    const state = await fetch(`${served.url}/supervisor/state`, { headers });
    const { models } = (await state.json()) as Snapshot;
    // The screen has the child's last words; the journal only has how it ended.
    const words = models[0]?.lastExit?.lastLines.join('\n') ?? '';
    for (const secret of [prompt, variable]) expect(words).toContain(secret);
    const journal = readFileSync(journalOf(served), 'utf8');
    expect(journal).toContain('"type":"exited"');
    for (const secret of [key, prompt, variable, 'TALKATIVE']) expect(journal).not.toContain(secret);
    expect(replay(readJournal(journalOf(served)))).toMatchObject({ divergence: null });
  });

  it('is given up with one notice where it cannot be written, and requests are served all the same', async () => {
    const state = join(temporaryDirectory(), 'state');
    mkdirSync(state, { mode: 0o700 });
    writeFileSync(join(state, 'journal'), '');
    await using served = await serve(...simulated('CUDA0=24GiB', MODELS), '--state-dir', state);
    expect((await ask(served, 'alpha')).status).toBe(200);
    const { notices } = (await served.snapshot()).supervisor;
    expect(notices.filter((notice) => notice.includes('nothing is recorded from now on'))).toHaveLength(1);
  });

  it.each([['--no-journal'], ['--journal-size', '0']])('is not written with %s', async (...flags) => {
    await using served = await serve(...simulated('CUDA0=24GiB', MODELS), ...flags);
    expect((await ask(served, 'alpha')).status).toBe(200);
    expect(existsSync(join(served.stateDirectory, 'journal'))).toBe(false);
    expect(readdirSync(served.stateDirectory)).not.toContain('journal');
  });
});

/** A llama-server that says on its output all that it is told, and dies of the first request. */
const TALKATIVE = `if (process.argv.includes('--help')) console.log('--model FNAME');
const { createServer } = require('node:http');
const option = (name) => process.argv[process.argv.indexOf(name) + 1];
if (!process.argv.includes('--port')) process.exit(0);
const server = createServer((request, response) => {
  if (request.url === '/health') return response.end('{"status":"ok"}');
  let body = '';
  request.on('data', (chunk) => (body += chunk)).on('end', () => {
    process.stderr.write(['TALKATIVE', body, process.env.JOURNAL_TEST, ''].join('\\n'), () => process.exit(7));
  });
});
server.listen(Number(option('--port')), '127.0.0.1', () => {
  console.log(${JSON.stringify(formatProtocolLine('ready', { n_ctx: 512 }))});
});
process.stdin.on('end', () => process.exit(0)).on('data', () => process.exit(0));
`;

describe('llm-tui replay says in one sentence what is wrong', () => {
  const recorded = (text: string): string => {
    const path = join(temporaryDirectory(), 'journal-000001.jsonl');
    writeFileSync(path, text);
    return path;
  };
  const HEADER = '{"journal":1,"version":"9.9.9","scheduler":"?","startedAt":1,"part":1}\n';

  it.each([
    { mistake: 'no file', args: () => ['/no/such/file'], words: /The journal \/no\/such\/file cannot/u, exit: 1 },
    { mistake: 'no journal', args: () => [recorded('hello\n')], words: /is not a journal of llm-tui/u, exit: 1 },
    { mistake: 'no state', args: () => [recorded(HEADER)], words: /000001\.jsonl:2: the state/u, exit: 1 },
    { mistake: 'no journal there', args: () => [temporaryDirectory()], words: /There is no journal in/u, exit: 2 },
    { mistake: 'no such policy', args: () => ['x', '--policy', 'fifo'], words: /Allowed choices are lru,/u, exit: 2 },
  ])('$mistake', async ({ args, words, exit }) => {
    const { code, stdout, stderr } = await runProgram(['replay', ...args()], temporaryDirectory());
    expect(stderr).toMatch(words);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(stdout).toBe('');
    expect(code).toBe(exit);
  });

  it('a journal that another scheduler has decided', async () => {
    await using served = await serve(...simulated('CUDA0=24GiB', MODELS));
    expect((await ask(served, 'alpha')).status).toBe(200);
    const text = readFileSync(journalOf(served), 'utf8');
    const forged = text
      .replace(/"decided":"\w+"/u, '"decided":"0000000000000000"')
      .replace(/"scheduler":"\w+"/u, '"scheduler":"abc"');
    const { code, stdout, stderr } = await runProgram(['replay', recorded(forged)], served.directory);
    expect(code).toBe(1);
    expect(stdout).toContain(' admit ');
    expect(stdout).not.toContain('As recorded');
    expect(stderr).toMatch(
      /jsonl:\d+: the replay differs from here on at '[a-z-]+' \(.*\): the decisions are others; another build .*\(abc; this is \w{16}\)\.$/mu,
    );
  });
});
