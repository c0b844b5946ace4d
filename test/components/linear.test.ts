import { describe, expect, it } from 'vitest';
import { readDevices } from '../../src/client/read-devices.js';
import { announce } from '../../components/linear/announce.js';
import { keyTexts } from '../../components/keys/key-texts.js';
import type { ScreenView } from '../../components/view.js';
import { startFakeSupervisor } from '../support/fake-supervisor.js';
import { createScreenWorld, type ScreenWorld } from '../support/screen-world.js';
import { busySnapshot, SAMPLE_SUPERVISOR, SAMPLE_TIME, sampleDecision, sampleSnapshot } from '../support/snapshots.js';
import { startScreen } from '../support/terminal-screen.js';

/** What is said after each step, or after a key, as the terminal's keys are. */
function listener(world: ScreenWorld): {
  readonly heard: () => string[];
  readonly heardAfter: (key: string) => string[];
} {
  let told: ScreenView | null = null;
  const say = (key: string | null): string[] => {
    const view = world.view();
    const lines = announce(told, view, keyTexts, key);
    told = view;
    return lines;
  };
  return {
    heard: () => say(null),
    heardAfter(key) {
      world.press(key);
      return say(key);
    },
  };
}

describe('the screen for those who listen to it', () => {
  it('begins with what there is: devices, what runs, who waits, and how to go on', () => {
    const lines = listener(createScreenWorld(busySnapshot())).heard();
    expect(lines).toContain('CUDA0: held 11.2, reserved 6.3, external 2.0, free 4.5 of 24.0 GiB');
    expect(lines.find((line) => line.startsWith('qwen3-32b: '))).toBe(
      'qwen3-32b: READY on CUDA0, 11.2 GiB, context 32k, 2 requests in flight, pinned',
    );
    expect(lines.find((line) => line.startsWith('number 1: '))).toMatch(/mixtral-8x7b, waits for 12s: needs 6\.2 GiB/);
    expect(lines.at(-1)).toContain('? tells all keys');
  });

  it('says decisions as they come, and nothing of figures or time', () => {
    const world = createScreenWorld(busySnapshot());
    const { heard } = listener(world);
    heard();
    world.pass(60_000);
    const devices = readDevices(busySnapshot().devices).map((device) => ({
      ...device,
      externalBytes: 0,
      sampledAt: SAMPLE_TIME + 59_000,
    }));
    world.receive({ type: 'delta', delta: { at: SAMPLE_TIME + 60_000, devices } });
    expect(heard()).toEqual([]);
    world.receive({
      type: 'decision',
      decision: sampleDecision(9, { kind: 'evict', sentence: 'phi-4 for qwen3-32b' }),
    });
    expect(heard()).toEqual([expect.stringMatching(/^\d\d:\d\d:\d\d evict: phi-4 for qwen3-32b$/)]);
  });

  it('says states that no decision tells of', () => {
    const world = createScreenWorld(busySnapshot());
    const { heard } = listener(world);
    heard();
    const phi = busySnapshot().models.find(({ id }) => id === 'phi-4');
    if (phi === undefined) throw new Error('the sample has changed');
    world.receive({ type: 'delta', delta: { at: SAMPLE_TIME, models: [{ ...phi, word: 'sleeping' }] } });
    expect(heard()).toEqual(['phi-4: now SLEEPING, was READY']);
    world.receive({ type: 'disconnected', reason: 'The line broke.' });
    expect(heard()).toEqual(['connection lost: The line broke. Trying again.']);
  });

  it('does not call it a lost connection when the supervisor was told to stop', () => {
    const world = createScreenWorld({ ...busySnapshot(), shuttingDown: true });
    const { heard } = listener(world);
    heard();
    world.receive({ type: 'disconnected', reason: 'The line broke.' });
    expect(heard()).toEqual([]);
  });

  it('says of a model either how far its load is or how long it is idle', () => {
    const [model] = busySnapshot().models.filter(({ word }) => word === 'loading');
    if (model === undefined) throw new Error('no model is being loaded');
    const models = [{ ...model, lastUsedAt: SAMPLE_TIME }];
    const lines = listener(createScreenWorld(sampleSnapshot({ models }))).heard();
    expect(lines.find((line) => line.startsWith(`${model.id}: LOADING`))).not.toContain('idle');
  });

  it('answers every key: where it went, what a page says, what is asked', async () => {
    const world = createScreenWorld(busySnapshot(), { options: { ownsSupervisor: true } });
    const { heard } = listener(world);
    heard();
    world.press('j');
    expect(heard()).toEqual([expect.stringMatching(/^models 2 of 6: llama4-scout: LOADING on CUDA0, 42%/)]);
    world.press('tab');
    expect(heard()).toEqual([expect.stringMatching(/^queue 1 of 2: number 1: mixtral-8x7b/)]);
    world.press('1');
    expect(heard()).toEqual([expect.stringMatching(/^devices 1 of 3: CUDA0: held/)]);
    world.press('w');
    expect(heard()).toEqual(expect.arrayContaining(['Why: CUDA0', 'Who holds it']));
    world.press('escape');
    expect(heard()).toEqual([expect.stringMatching(/^devices 1 of 3/)]);
    world.press('2', 'p');
    heard();
    await Promise.resolve();
    expect(heard()).toEqual(['pin llama4-scout: accepted']);
    world.press('q');
    expect(heard()).toEqual([
      'What becomes of the models? Ctrl-C again stops all.',
      'd detach, everything keeps running',
      expect.stringMatching(/^s stop 4 models/),
      'Esc cancel',
    ]);
    world.press('escape', '/', 'p', 'h', 'i', 'return');
    expect(heard()).toContain('filter "phi"');
  });

  it('says what came of a question that took a while', async () => {
    const world = createScreenWorld(busySnapshot());
    const { heard } = listener(world);
    heard();
    world.press('P');
    expect(heard()).toEqual(['Plan: load qwen3-32b', 'asking...']);
    await Promise.resolve();
    expect(heard()).toEqual(['FITS  phi-4 fits on CUDA1', 'nothing was changed by asking']);
  });

  it('answers keys that change nothing, too', () => {
    const world = createScreenWorld({ ...busySnapshot(), queue: [] }, { options: { ownsSupervisor: true } });
    const { heard, heardAfter } = listener(world);
    heard();
    expect(heardAfter('up')).toEqual([expect.stringMatching(/^models 1 of \d/u)]);
    expect(heardAfter('escape')).toEqual([expect.stringMatching(/^models 1 of \d/u)]);
    expect(heardAfter('z')).toEqual(['zoom changes what is drawn, and nothing of what is told']);
    heardAfter('w');
    expect(heardAfter('j')).toEqual([expect.stringMatching(/^Why: .*: all of it was told; Esc goes back$/u)]);
    heardAfter('q');
    expect(heardAfter('x')).toEqual([
      'x is no answer:',
      expect.stringMatching(/^d detach/u),
      expect.anything(),
      'Esc cancel',
    ]);
    expect(heardAfter('escape')).toEqual(['nothing was done']);
    heardAfter('escape');
    expect(heardAfter('3')).toEqual(['queue: empty']);
    expect(heardAfter('w')).toEqual(['why does nothing: no row is selected, there is none']);
  });

  it('says what Tab lists and chooses, and what comes into a line without being typed', () => {
    const world = createScreenWorld(busySnapshot());
    const { heard } = listener(world);
    heard();
    world.press(':');
    heard();
    world.press('tab');
    expect(heard()).toEqual([
      expect.stringMatching(/^\d+ to choose from, Tab goes through them: load, unload, kill, /u),
    ]);
    world.press('tab');
    expect(heard()).toEqual(['load: load the model, making room as the scheduler sees fit']);
    world.press('space');
    expect(heard()).toEqual([]);
    world.press('p', 'tab');
    expect(heard()).toEqual(['load phi-4']);
  });

  it('says of a log only what was added', () => {
    const world = createScreenWorld(busySnapshot());
    const { heard } = listener(world);
    heard();
    world.press('L');
    heard();
    const lines = ['one', 'two'];
    world.screen.setState({ logTail: { model: 'qwen3-32b', lines, dropped: 0, error: null } });
    expect(heard()).toEqual(['one', 'two']);
    world.screen.setState({ logTail: { model: 'qwen3-32b', lines: ['two', 'three'], dropped: 1, error: null } });
    expect(heard()).toEqual(['three']);
  });

  it('says no control characters, whoever has sent them', () => {
    const supervisor = { ...SAMPLE_SUPERVISOR, notices: ['a \u001b[2Jnotice'] };
    expect(listener(createScreenWorld(sampleSnapshot({ supervisor }))).heard()).toContain('notice: a \\e[2Jnotice');
  });
});

describe.each([
  ['--screen-reader', { SCREEN_READER: '1' }],
  ['a terminal that cannot move its cursor', { TERM: 'dumb' }],
])('in a terminal, for %s', (_why, env) => {
  it('writes lines one after the other, on the ordinary screen, and takes keys', async () => {
    await using supervisor = await startFakeSupervisor(busySnapshot());
    await using terminal = startScreen(supervisor, { columns: 200, rows: 50, env });
    await terminal.waitFor('q leaves.');
    terminal.type('j');
    await terminal.waitFor(/^models 2 of 6: llama4-scout/mu);
    terminal.type('w');
    await terminal.waitFor(/^Why: llama4-scout/mu);
    terminal.type('j');
    await terminal.waitFor(/^Why: llama4-scout: all of it was told; Esc goes back/mu);
    terminal.type('\u001b');
    supervisor.sendDecision(sampleDecision(77, { sentence: 'something was decided' }));
    await terminal.waitFor(/admit: something was decided$/mu);
    expect(terminal.onAlternateScreen()).toBe(false);
    // eslint-disable-next-line no-control-regex -- movements and erasures are what is looked for
    expect(terminal.output()).not.toMatch(/\u001b\[\d*(?:;\d*)?[A-HJKST]/u);
    terminal.type('q');
    await terminal.waitFor('l leave');
    terminal.type('l');
    await terminal.exited;
    expect(terminal.cursorVisible()).toBe(true);
    expect(terminal.text()).toContain('outcome left');
  });
});
