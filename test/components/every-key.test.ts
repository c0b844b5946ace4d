import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../../components/keys/commands.js';
import type { ModelView, Snapshot } from '../../src/client/types.js';
import { writeExternal } from '../../src/devices/sim-ledger.js';
import { GIB } from '../../src/scheduler/units.js';
import { pathsFor } from '../../src/supervisor/paths.js';
import { liveScreenOf, type LiveScreen } from '../support/live-screen.js';
import { serve, testEnvironment, type Served } from '../support/serving.js';
import { writePreset } from '../support/preset.js';

const QUICK = { 'sim-size': '2GiB', 'sim-load-seconds': 0.05, 'sim-tokens-per-second': 20 };
const DEVICES = 'CUDA0=24GiB,CUDA1=8GiB';

let served: Served;
let live: LiveScreen;
let preset: string;

beforeAll(async () => {
  preset = writePreset({
    ...{ alpha: QUICK, beta: QUICK, slow: { ...QUICK, 'sim-load-seconds': 600 } },
    hungry: { ...QUICK, 'sim-size': '20GiB', 'sim-load-seconds': 2 },
  });
  served = await serve('--engine', 'sim', '--sim-devices', DEVICES, '--models-preset', preset);
  live = await liveScreenOf(served);
});
afterAll(async () => {
  live[Symbol.dispose]();
  await served[Symbol.asyncDispose]();
});

const modelIn = ({ models }: Snapshot, id: string): ModelView | undefined => models.find((model) => model.id === id);

/** Waits until the supervisor itself says so of a model. */
function really(id: string, what: string, is: (model: ModelView, snapshot: Snapshot) => boolean): Promise<unknown> {
  return served.until(`${id} is ${what}`, (snapshot) => {
    const model = modelIn(snapshot, id);
    return model !== undefined && is(model, snapshot);
  });
}

const word = (id: string, wanted: ModelView['word']): Promise<unknown> =>
  really(id, wanted, (model) => model.word === wanted);

/** Brings a model there by the API, so that a key finds what it needs, and waits until the screen knows. */
async function given(id: string, wanted: 'ready' | 'unloaded' | 'sleeping'): Promise<void> {
  const now = modelIn(await served.snapshot(), id)?.word;
  if (now !== wanted) {
    if (wanted === 'unloaded') await served.post('/supervisor/unload', { model: id });
    else if (now !== 'ready' && now !== 'sleeping') await served.post('/supervisor/load', { model: id });
    else if (now === 'sleeping') await served.post('/supervisor/wake', { model: id });
    if (wanted === 'sleeping') {
      await word(id, 'ready');
      await served.post('/supervisor/park', { model: id });
    }
  }
  await word(id, wanted);
  await live.shows(new RegExp(`${id} .*${wanted.toUpperCase()}`, 'u'));
  live.select(id);
}

/** A request that goes on for as long as it may. */
function ask(model: string): Promise<Response> {
  const messages = [{ role: 'user', content: 'hello' }];
  return served.post('/v1/chat/completions', { model, max_tokens: 100_000, messages });
}

async function codeOf(answer: Promise<Response>): Promise<string> {
  return ((await (await answer).json()) as { error: { code: string } }).error.code;
}

async function logOf(model: string): Promise<readonly string[]> {
  const reply = await fetch(`${served.url}/supervisor/logs?model=${model}`);
  return ((await reply.json()) as { lines: string[] }).lines;
}

const copied = (): string => {
  const base64 = live.written.at(-1)?.split(';')[2]?.slice(0, -1) ?? '';
  return Buffer.from(base64, 'base64').toString('utf8');
};

/** Those that the screen has at this very moment. */
const decisionNumbers = (): readonly number[] =>
  live.session.frames.view()?.snapshot.decisions.map(({ number }) => number) ?? [];

const shown = (): readonly string[] => live.text().split('\n');

/** What every command does, pressed by its key, and typed where it has none. */
const CHECKS: Readonly<Record<string, () => Promise<void>>> = {
  async load() {
    await given('alpha', 'unloaded');
    live.press('l');
    await word('alpha', 'ready');
  },
  async unload() {
    await given('alpha', 'ready');
    live.press('u');
    await word('alpha', 'unloaded');
  },
  async kill() {
    await given('alpha', 'ready');
    live.press('U');
    expect(live.text()).toContain('Kill alpha at once?');
    live.press('y');
    await really('alpha', 'killed', ({ lastStop }) => lastStop?.kind === 'operator' && lastStop.action === 'kill');
    await word('alpha', 'unloaded');
  },
  async cancel() {
    await given('alpha', 'ready');
    const answered = ask('alpha');
    await really('alpha', 'busy', ({ requests }) => requests === 1);
    await live.shows(/alpha .* 1 +-/u);
    live.press('c');
    expect(live.text()).toContain('Cancel 1 request in flight at alpha?');
    live.press('escape');
    expect(modelIn(await served.snapshot(), 'alpha')?.requests).toBe(1);
    live.press('c', 'y');
    expect(await codeOf(answered)).toBe('request_cancelled');
    await really('alpha', 'idle', ({ requests }) => requests === 0);

    const waiting = ask('slow');
    await live.shows('Queue (1)');
    live.press('3', 'c');
    expect(await codeOf(waiting)).toBe('request_cancelled');
    await served.until('nobody waits', ({ queue }) => queue.length === 0);
    await served.post('/supervisor/kill', { model: 'slow' });
    await word('slow', 'unloaded');
  },
  async pin() {
    await given('alpha', 'ready');
    live.press('p');
    await really('alpha', 'pinned', ({ pinned }) => pinned);
    await live.shows(/alpha +\* /u);
    live.press('p');
    await really('alpha', 'unpinned', ({ pinned }) => !pinned);
  },
  async unpin() {
    live.command('pin beta');
    await really('beta', 'pinned', ({ pinned }) => pinned);
    live.command('unpin beta');
    await really('beta', 'unpinned', ({ pinned }) => !pinned);
  },
  async block() {
    await given('alpha', 'ready');
    live.press('b');
    await really('alpha', 'blocked', ({ blocked }) => blocked);
    await live.shows(/alpha +B /u);
    live.press('b');
    await really('alpha', 'allowed', ({ blocked }) => !blocked);
  },
  async unblock() {
    live.command('block beta');
    await really('beta', 'blocked', ({ blocked }) => blocked);
    live.command('unblock beta');
    await really('beta', 'allowed', ({ blocked }) => !blocked);
  },
  async park() {
    await given('alpha', 'ready');
    live.press('s');
    await word('alpha', 'sleeping');
    await live.shows(/alpha .*SLEEPING/u);
    live.press('s');
    await word('alpha', 'ready');
  },
  async wake() {
    await given('alpha', 'sleeping');
    live.command('wake alpha');
    await word('alpha', 'ready');
  },
  async measure() {
    await given('beta', 'unloaded');
    const before = (await served.snapshot()).decisions.filter(({ kind }) => kind === 'measure').length;
    live.press('m');
    await served.until(
      'it was measured again',
      ({ decisions }) => decisions.filter(({ kind }) => kind === 'measure').length > before,
    );
  },
  async reload() {
    writeFileSync(preset, `${readFileSync(preset, 'utf8')}\n[later]\nsim-size = 1GiB\n`);
    live.press('R');
    await really('later', 'known', ({ word: state }) => state === 'unloaded');
    await live.shows('reload: 1 model added (later)');
    live.press('R');
    await live.shows('reload: nothing has changed');
  },
  async plan() {
    await given('beta', 'unloaded');
    live.press('P');
    await live.shows(/FITS +beta/u);
    expect(modelIn(await served.snapshot(), 'beta')?.word).toBe('unloaded');
  },
  async why() {
    await given('alpha', 'ready');
    live.press('w');
    await live.shows('Why: alpha');
  },
  async detail() {
    await given('alpha', 'ready');
    live.press('return');
    await live.shows(/process +pid \d+, generation/u);
    await live.shows('simulated child of alpha');
    live.press('escape', '1', 'return');
    await live.shows('Who holds it');
  },
  async logs() {
    await given('alpha', 'ready');
    live.press('L');
    await live.shows(/simulated child of alpha/u);
    expect(live.text()).toContain('following');
  },
  async filter() {
    live.select('alpha');
    live.press('/', 'b', 'e', 't', 'return');
    expect(live.text()).toContain('Models (1 of');
    live.press('escape');
    live.command('filter !beta');
    expect(live.text()).not.toMatch(/^..b beta/mu);
    live.press('escape');
    await Promise.resolve();
  },
  async sort() {
    live.select('alpha');
    live.press('o');
    expect(live.text()).toContain('by name');
    live.command('sort catalog');
    expect(live.text()).not.toContain('by name');
    await Promise.resolve();
  },
  async 'out-of-memory'() {
    await given('hungry', 'unloaded');
    await served.post('/supervisor/load', { model: 'hungry' });
    await really('hungry', 'on its way', ({ resident }) => (resident['CUDA0'] ?? 0) > 0);
    const { simulation } = pathsFor(served.stateDirectory, testEnvironment(served.directory));
    writeExternal(simulation, { CUDA0: 12 * GIB });
    await served.until('it ran out of memory', ({ outOfMemory }) => outOfMemory?.length === 1);
    await live.shows('hungry ran out of memory on CUDA0');
    live.press('!');
    expect(live.text()).toContain('Out of memory: hungry');
    writeExternal(simulation, {});
    await served.post('/supervisor/kill', { model: 'hungry' });
    await served.until(
      'nothing loads',
      ({ models, queue }) => queue.length === 0 && models.every(({ word: is }) => is !== 'loading'),
    );
  },
  async theme() {
    live.press('T');
    expect(live.session.screen.getState().theme).toBe('light');
    live.command('theme mono');
    expect(live.session.screen.getState().theme).toBe('mono');
    expect(live.text()).toContain('has no colours');
    await Promise.resolve();
  },
  async zoom() {
    live.select('alpha');
    live.press('z');
    expect(live.text()).not.toContain('Decisions');
    live.press('z');
    expect(live.text()).toContain('Decisions');
    await Promise.resolve();
  },
  async follow() {
    await given('alpha', 'ready');
    live.press('L');
    await live.shows('following');
    live.press('f');
    expect(live.text()).not.toContain('following');
    live.press('f');
    expect(live.text()).toContain('following');
  },
  async wrap() {
    await given('alpha', 'ready');
    live.press('L');
    await live.shows('following');
    live.press('W');
    expect(live.text()).toContain('cut (W wraps)');
    live.press('W');
    expect(live.text()).not.toContain('cut (W wraps)');
  },
  async 'next-match'() {
    await given('alpha', 'ready');
    live.press('L');
    await live.shows('simulated child');
    live.press('/', ...Array.from('simulated'), 'return');
    expect(live.text()).toContain('"simulated" 1 of 1');
    live.press('n');
    expect(live.text()).toContain('searched on from the beginning');
  },
  async 'previous-match'() {
    await CHECKS['next-match']?.();
    live.press('N');
    expect(live.text()).toContain('searched on from the end');
  },
  async copy() {
    await given('alpha', 'ready');
    live.press('y');
    expect(copied()).toBe('alpha');
    live.press('5', 'y');
    expect(copied()).toMatch(/^#\d+ /u);
    await live.shows('copied decision #');
    live.press('1', 'y');
    expect(copied()).toContain('Who holds it');
    await given('alpha', 'ready');
    live.press('L');
    const last = (await logOf('alpha')).at(-1) ?? '';
    await live.shows(last);
    live.press('y');
    expect(copied()).toBe(last);
  },
  async 'copy-curl'() {
    await given('alpha', 'ready');
    live.press('Y');
    expect(copied()).toBe(
      `curl ${served.url}/v1/chat/completions -H 'Content-Type: application/json' -d '{"model":"alpha","messages":[{"role":"user","content":"Hello"}]}'`,
    );
  },
  async freeze() {
    await given('alpha', 'unloaded');
    live.press('space');
    expect(shown()[0]).toContain('FROZEN');
    await served.post('/supervisor/load', { model: 'alpha' });
    await word('alpha', 'ready');
    expect(live.text()).toMatch(/alpha .*UNLOADED/u);
    live.press('space');
    await live.shows(/alpha .*READY/u);
  },
  async older() {
    await given('alpha', 'ready');
    const numbers = decisionNumbers();
    live.press('5', 'g', '[');
    expect(live.text()).toContain(`Why: decision #${numbers.at(-1)}`);
    live.press('[');
    expect(live.text()).toContain(`Why: decision #${numbers.at(-2)}`);
  },
  async newer() {
    await given('alpha', 'ready');
    const numbers = decisionNumbers();
    live.press('5', 'g', '[', '[', ']');
    expect(live.text()).toContain(`Why: decision #${numbers.at(-1)}`);
    live.press(']');
    expect(live.text()).toContain('there is no newer decision');
  },
  async faster() {
    live.press('+');
    expect(shown()[0]).toContain('every 0.2s');
    live.press('-');
    expect(shown()[0]).not.toContain('every');
    await Promise.resolve();
  },
  async slower() {
    live.press('-', '-');
    expect(shown()[0]).toContain('every 2s');
    live.press('=', '=');
    expect(shown()[0]).not.toContain('every');
    await Promise.resolve();
  },
  async help() {
    live.press('?');
    expect(live.text()).toContain('Models');
    expect(live.text()).toContain('load the model, making room');
    await Promise.resolve();
  },
  async back() {
    live.press('?', 'escape');
    expect(live.text()).toContain('Decisions');
    await Promise.resolve();
  },
  ...Object.fromEntries(
    (['down', 'up', 'page-down', 'page-up', 'first', 'last'] as const).map((name) => [name, () => moves(name)]),
  ),
  async 'next-pane'() {
    live.select('alpha');
    live.press('tab');
    expect(live.session.screen.getState().focus).toBe('queue');
    await Promise.resolve();
  },
  async 'previous-pane'() {
    live.select('alpha');
    live.press('shift+tab');
    expect(live.session.screen.getState().focus).toBe('devices');
    await Promise.resolve();
  },
  async pane() {
    live.press('5');
    expect(live.session.screen.getState().focus).toBe('decisions');
    live.command('pane models');
    expect(live.session.screen.getState().focus).toBe('models');
    await Promise.resolve();
  },
  async command() {
    await given('alpha', 'ready');
    live.press(':', 'u', 'n', 'l', 'tab', 'a', 'tab', 'return');
    await word('alpha', 'unloaded');
    live.press(':', 'up');
    expect(live.text()).toContain(':unload alpha');
    live.press('escape');
  },
  async notices() {
    live.press('i');
    expect(live.text()).toContain('Notices (');
    await Promise.resolve();
  },
  async requests() {
    await given('alpha', 'ready');
    const [first, second] = [ask('alpha'), ask('alpha')];
    await really('alpha', 'busy with both', ({ requests }) => requests === 2);
    live.press('r');
    await live.shows('Requests for alpha (2)');
    live.press('j', 'c', 'y');
    expect(await codeOf(second)).toBe('request_cancelled');
    await live.shows('Requests for alpha (1)');
    live.press('g', 'c', 'y');
    expect(await codeOf(first)).toBe('request_cancelled');
  },
  async 'start-again'() {
    await using other = await serve('--engine', 'sim', '--sim-devices', DEVICES, '--models-preset', preset);
    using owner = await liveScreenOf(other, { owns: true });
    other.process.kill('SIGKILL');
    await owner.shows('The supervisor has ended');
    owner.press('escape', 'a');
    expect(owner.outcome()?.reason).toBe('start-again');
  },
  async redraw() {
    live.press('ctrl+l');
    expect(live.asked).toContain('redraw');
    await Promise.resolve();
  },
  async suspend() {
    live.press('ctrl+z');
    expect(live.asked).toContain('suspend');
    await Promise.resolve();
  },
  async quit() {
    using guest = await liveScreenOf(served);
    guest.press('q', 'l');
    expect(guest.outcome()?.reason).toBe('left');
    expect((await served.snapshot()).shuttingDown).toBe(false);
    await using other = await serve('--engine', 'sim', '--sim-devices', DEVICES, '--models-preset', preset);
    using owner = await liveScreenOf(other, { owns: true });
    owner.press('q', 's');
    await owner.shows('STOPPING').catch(() => undefined);
    await new Promise((resolve) =>
      other.process.exitCode === null ? other.process.once('exit', resolve) : resolve(0),
    );
    expect(other.process.exitCode).toBe(0);
  },
};

const MOVES: Readonly<
  Record<string, { readonly from: string; readonly to: (ids: readonly string[]) => string | undefined }>
> = {
  down: { from: 'alpha', to: (ids) => ids[1] },
  up: { from: 'beta', to: (ids) => ids[0] },
  'page-down': { from: 'alpha', to: (ids) => ids.at(-1) },
  'page-up': { from: 'slow', to: (ids) => ids[0] },
  first: { from: 'slow', to: (ids) => ids[0] },
  last: { from: 'alpha', to: (ids) => ids.at(-1) },
};

async function moves(name: string): Promise<void> {
  const { from, to } = MOVES[name] ?? { from: '', to: () => '' };
  const command = COMMANDS.find((each) => each.name === name);
  const ids = (await served.snapshot()).models.map(({ id }) => id);
  for (const key of command?.keys ?? []) {
    live.select(from);
    live.press(key);
    expect(live.session.screen.getState().selected.models, key).toBe(to(ids));
  }
}

describe('every key, before a real supervisor,', () => {
  it.each(COMMANDS.map(({ name, keys }) => ({ name, keys: keys.join(' ') })))(
    '$name ($keys) does what it says',
    async ({ name }) => {
      const check = CHECKS[name];
      if (check === undefined) throw new Error(`nothing checks what ${name} does`);
      live.select('alpha');
      await check();
    },
  );

  it('is in the table', () => {
    expect(Object.keys(CHECKS).filter((name) => !COMMANDS.some((command) => command.name === name))).toEqual([]);
  });
});
