import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../components/keys/commands.js';
import { SUPERVISOR, STOCK_ROUTER } from '../../src/client/sources.js';
import { SAMPLE_TIME, busySnapshot } from '../support/snapshots.js';
import { createScreenWorld, type ScreenWorld } from '../support/screen-world.js';

type Settings = Parameters<typeof createScreenWorld>[1];

function lost(settings?: Settings): ScreenWorld {
  const world = createScreenWorld(busySnapshot(), settings);
  world.receive({ type: 'disconnected', reason: 'It broke off.' });
  return world;
}

function ended(settings?: Settings): ScreenWorld {
  const world = lost(settings);
  world.receive({
    type: 'ended',
    end: { at: SAMPLE_TIME, exitCode: null, signal: 'SIGKILL', log: '/state/serve.log' },
  });
  return world;
}

const footer = (world: ScreenWorld): string => world.lines().slice(-3).join(' ').replace(/\s+/gu, ' ');

describe('keys while there is no supervisor', () => {
  const asking = COMMANDS.filter(({ asks }) => asks === true);

  it('that act, plan or read a log are those that need one; to start one again needs none', () => {
    const acting = COMMANDS.filter(({ acts, name }) => acts && name !== 'start-again');
    expect(asking).toEqual(expect.arrayContaining(acting));
    expect(asking.map(({ name }) => name)).toEqual(expect.arrayContaining(['load', 'reload', 'plan', 'logs']));
  });

  it.each(asking.map(({ name, keys }) => [name, keys[0]] as const))('say so instead: %s', (name, key) => {
    for (const [world, what] of [
      [ended(), /: there is no supervisor: it ended at \d\d:\d\d:\d\d; a starts it again/u],
      [lost(), /: no supervisor answers since \d\d:\d\d:\d\d; llm-tui in another terminal starts one/u],
    ] as const) {
      if (key !== undefined) world.press(key);
      else world.press(':', ...Array.from(name), 'return');
      expect(footer(world)).toMatch(what);
      expect(footer(world)).toContain(`${name}: `);
      expect(world.view().screen).toMatchObject({ dialog: null, page: null });
      expect(world.asked).toEqual([]);
    }
  });

  it('say what is true of what they look at: a stock router is started by others, and who may only look starts nothing', () => {
    const router = lost({ options: { source: STOCK_ROUTER } });
    router.press('l');
    expect(footer(router)).toContain('the router does not answer since');
    const reader = ended({ options: { readOnly: true, source: SUPERVISOR } });
    reader.press('P');
    expect(footer(reader)).toMatch(/it ended at \S+; q leaves/u);
  });

  it('answer no question either that was asked before', () => {
    const world = createScreenWorld(busySnapshot());
    world.press('U');
    world.receive({ type: 'disconnected', reason: 'It broke off.' });
    world.press('y');
    expect(world.answers).toEqual([]);
    expect(footer(world)).toContain('no supervisor answers');
  });

  it('are not offered in the last row, while those that look are, and do what they always do', () => {
    const world = ended();
    expect(world.lines().at(-1)).toMatch(/^ a start again {2}w why {2}Enter detail/u);
    world.press('w');
    expect(world.text()).toContain('Why: qwen3-32b');
  });

  it('work again as soon as one answers', () => {
    const world = lost();
    world.receive({ type: 'snapshot', snapshot: busySnapshot() });
    world.press('p');
    expect(world.asked).toEqual(['unpin qwen3-32b']);
  });
});

describe('what was known last of a supervisor that does not answer', () => {
  it('looks so in the title, over every list that may have changed, and beside every device', () => {
    const world = lost();
    const text = world.text();
    expect(world.lines()[0]).toMatch(/LOST {2}was 2 ready, 1 loading of 6/u);
    expect(world.lines()[0]).not.toContain('up ');
    expect(text).toMatch(/Models \(6\), as of \d\d:\d\d:\d\d /u);
    expect(text).toMatch(/Queue \(2\), as of \d\d:\d\d:\d\d /u);
    expect(text).toMatch(/Measure queue, as of/u);
    expect(text).toMatch(/-- Decisions -/u);
    for (const device of ['CUDA0', 'CUDA1', 'Host']) expect(text).toMatch(new RegExp(`^ {2}${device} .* stale`, 'mu'));
  });

  it('does not age: nothing is drawn, however long it is looked at', () => {
    const world = lost();
    const before = world.text();
    world.pass(600_000);
    expect(world.text()).toBe(before);
  });

  it.each([
    ['return', /== qwen3-32b.*, as of \d\d:\d\d/u],
    ['w', /Why: qwen3-32b, as of \d\d:\d\d/u],
    ['r', /Requests for qwen3-32b \(\d\), as of \d\d:\d\d/u],
  ])('looks so on the page of %s', (key, title) => {
    const world = lost();
    world.press(key);
    expect(world.text()).toMatch(title);
  });

  it('is not said of a decision, which stays what it was', () => {
    const world = lost();
    world.press('5', 'w');
    expect(world.text()).not.toContain('as of');
  });

  it('has no colour that says all is well', () => {
    const world = lost();
    const row = world.frame().rows.find((spans) => spans.some(({ text }) => text.startsWith('READY')));
    expect(row?.map(({ tone }) => tone)).not.toContain('good');
  });

  it('is up to date again as soon as one answers', () => {
    const world = lost();
    world.receive({ type: 'snapshot', snapshot: busySnapshot() });
    expect(world.text()).not.toMatch(/as of|stale|LOST/u);
  });
});
