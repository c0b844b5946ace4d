import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readMoments } from '../../src/client/moments.js';
import { writeExternal } from '../../src/devices/sim-ledger.js';
import { journalFiles } from '../../src/journal/files.js';
import { GIB } from '../../src/scheduler/units.js';
import { pathsFor } from '../../src/supervisor/paths.js';
import { simulated } from '../support/preset.js';
import { LAUNCHER, serve, testEnvironment, type Served } from '../support/serving.js';
import { startTerminal, type TestTerminal } from '../support/terminal.js';
import { until } from '../support/until.js';

/**
 * A card of 24 GiB with an idle model, a pinned one and a busy one; another program takes 8 GiB while a fourth model is
 * loading into the rest.
 */
async function recordedSession(): Promise<Served> {
  const quick = { 'sim-load-seconds': 0.2 };
  const served = await serve(
    ...simulated('CUDA0=24GiB', {
      'idle-8b': { 'sim-size': '8GiB', ...quick },
      'keeper-4b': { 'sim-size': '4GiB', ...quick, pin: 'true' },
      'chat-4b': { 'sim-size': '4GiB', ...quick, 'sim-tokens-per-second': 0.01 },
      'late-7b': { 'sim-size': '7GiB', 'sim-load-seconds': 5 },
    }),
  );
  const ask = (model: string, tokens: number): Promise<unknown> =>
    served
      .post('/v1/chat/completions', { model, max_tokens: tokens, messages: [{ role: 'user', content: 'x' }] })
      .then((response) => response.text())
      .catch(() => '');
  await served.until('the pinned one is up', ({ models }) => models[1]?.word === 'ready');
  await ask('idle-8b', 1);
  void ask('chat-4b', 9);
  await served.until('the busy one is', ({ models }) => models[2]?.requests === 1 && models[2].word === 'ready');
  await served.post('/supervisor/load', { model: 'late-7b' });
  await served.until('the fourth has taken some', ({ models }) => (models[3]?.resident['CUDA0'] ?? 0) > GIB);
  const { simulation } = pathsFor(served.stateDirectory, testEnvironment(served.directory));
  writeExternal(simulation, { CUDA0: 8 * GIB });
  await served.until('memory has run out', ({ outOfMemory }) => outOfMemory?.length === 1);
  await served.until('the idle one has left', ({ models }) => models[0]?.word === 'unloaded');
  return served;
}

describe('a model that has run out of memory', () => {
  let served: Served;
  let terminal: TestTerminal;
  beforeEach(async () => {
    served = await recordedSession();
    const entries = Object.entries(testEnvironment(served.directory));
    terminal = startTerminal({
      file: process.execPath,
      args: [LAUNCHER, 'attach', '--state-dir', served.stateDirectory, '--glyphs', 'ascii'],
      env: { ...Object.fromEntries(entries.map(([name, value]) => [name, value ?? ''])), FORCE_COLOR: '0' },
      columns: 80,
      rows: 24,
    });
  });
  afterEach(async () => {
    await terminal[Symbol.asyncDispose]();
    await served[Symbol.asyncDispose]();
  });

  it('leads in three keys from a cold look to who held it, who could have left and what now', async () => {
    await terminal.waitFor(/! late-7b ran out of memory on CUDA0 at \d\d:\d\d:\d\d/u);
    expect(terminal.text()).toContain('! shows what would help');
    terminal.type('!');
    await terminal.waitFor('What would help');
    const read = [terminal.text()];
    for (let key = 1; key < 3; key += 1) {
      const before = terminal.text();
      terminal.type('\u001b[6~');
      await terminal.waitFor((lines) => lines.join('\n') !== before);
      read.push(terminal.text());
    }
    const whole = read.join('\n');
    expect(whole).toMatch(/It asked for \d\.\d GiB, was seen to hold \d\.\d GiB by then/u);
    expect(whole).toMatch(/8\.0 idle-8b +yes: idle for \d+s/u);
    expect(whole).toMatch(/4\.0 keeper-4b +no: pinned/u);
    expect(whole).toMatch(/4\.0 chat-4b +no: busy, 1 request in flight/u);
    expect(whole).toMatch(/\d\.\d other programs/u);
    expect(whole).toMatch(/admit +late-7b/u);
    expect(whole).toMatch(/took +other programs: \+\d\.\d GiB on CUDA0/u);
    // The idle one has left for it meanwhile, so that nobody else would have to go.
    expect(whole).toMatch(/now it is\s+(?:WAITING|LOADING|READY)/u);
    expect(whole).not.toMatch(/llm-tui unpin keeper-4b/u);
    expect(whole).toMatch(/llm-tui --models-memory-margin \d+/u);
    terminal.type('\u001b');
    await terminal.waitFor(/Models \(4\)/u);
    expect(terminal.text(), 'it was seen').not.toContain('ran out of memory on');
  });

  it('is explained by its recording as it was explained then', async () => {
    const [then] = (await served.snapshot()).outOfMemory ?? [];
    const file = journalFiles(pathsFor(served.stateDirectory).journal).at(-1) ?? '';
    const recorded = await until('it is in the journal', () => readMoments(file).moments.at(-1)?.outOfMemory[0]);
    expect(recorded).toEqual(then);
  });
});
