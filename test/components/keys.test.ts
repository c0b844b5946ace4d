import type { Key } from 'ink';
import { describe, expect, it, vi } from 'vitest';
import { COMMANDS } from '../../components/keys/commands.js';
import { helpPage } from '../../components/keys/help-page.js';
import { hintsFor } from '../../components/keys/key-texts.js';
import { keyLabel, keyNames } from '../../components/keys/key-names.js';
import { paintRow } from '../../components/widgets/row.js';
import { PLAIN } from '../../components/theme/tones.js';
import type { ActionResult } from '../../src/client/types.js';
import { busySnapshot, sampleDecision, sampleModel } from '../support/snapshots.js';
import { createScreenWorld } from '../support/screen-world.js';

const NO_KEY: Key = {
  upArrow: false,
  downArrow: false,
  leftArrow: false,
  rightArrow: false,
  pageDown: false,
  pageUp: false,
  home: false,
  end: false,
  return: false,
  escape: false,
  ctrl: false,
  shift: false,
  tab: false,
  backspace: false,
  delete: false,
  meta: false,
  super: false,
  hyper: false,
  capsLock: false,
  numLock: false,
};

describe('the table of commands', () => {
  it('gives every command a name of its own, keys of its own and a line of help', () => {
    const names = COMMANDS.map((command) => command.name);
    const keys = COMMANDS.flatMap((command) => command.keys);
    expect(new Set(names).size).toBe(names.length);
    expect(new Set(keys).size).toBe(keys.length);
    for (const command of COMMANDS) {
      expect(command.help.length).toBeGreaterThan(5);
    }
  });

  it('uses no function keys and none that terminals or tmux take for themselves', () => {
    for (const key of COMMANDS.flatMap((command) => command.keys)) {
      expect(key).not.toMatch(/^f\d+$|^ctrl\+[sqab]$/);
    }
  });

  it('is all on the help screen', () => {
    const view = createScreenWorld(busySnapshot()).view();
    const help = helpPage(view)
      .rows.map((row) => paintRow(row, PLAIN))
      .join('\n');
    for (const command of COMMANDS) {
      expect(help).toContain(command.help);
      for (const key of command.keys) expect(help).toContain(keyLabel(key));
    }
  });

  it('comes with what the short words and signs on the screen mean', () => {
    const narrow = createScreenWorld(busySnapshot(), { columns: 60, rows: 20 });
    const help = helpPage(narrow.view())
      .rows.map((row) => paintRow(row, PLAIN))
      .join('\n');
    const device = narrow.lines().find((line) => line.includes('CUDA0')) ?? '';
    for (const short of ['h', 'r', 'x', 'f']) {
      expect(device).toMatch(new RegExp(` ${short} +\\d`));
      expect(help).toMatch(new RegExp(`, ${short}\\)`));
    }
    for (const sign of ['GiB min/used', 'Measure queue', '~ is an estimate']) expect(help).toContain(sign);
    expect(help).toMatch(/ pin +pin the model: loads it/);
  });

  it('names the keys that scroll where there is more of a page than is shown', () => {
    const short = createScreenWorld(busySnapshot(), { columns: 80, rows: 24 });
    short.press('?');
    expect(short.lines().at(-1)).toMatch(/^ Esc back {2}j k PgDn scroll/);
    const tall = createScreenWorld(busySnapshot(), { columns: 140, rows: 200 });
    tall.press('?');
    expect(tall.lines().at(-1)).not.toContain('scroll');
  });

  it('hides and refuses everything that acts on a read-only screen', () => {
    const world = createScreenWorld(busySnapshot(), { options: { readOnly: true } });
    const acting = COMMANDS.filter((command) => command.acts);
    expect(acting.map((command) => command.name)).toEqual([
      ...['load', 'unload', 'kill', 'cancel', 'pin', 'unpin', 'block', 'unblock', 'park', 'wake', 'measure', 'reload'],
      'start-again',
    ]);
    for (const command of acting) world.press(...command.keys);
    expect(world.asked).toEqual([]);
    expect(world.screen.getState().dialog).toBeNull();
    expect(hintsFor(world.view()).map((hint) => hint.label)).not.toContain('kill');
    world.press('q');
    expect(world.text()).not.toContain('stop');
  });
});

describe('keys', () => {
  it('that arrive together all count', () => {
    expect(keyNames('jjj', NO_KEY)).toEqual(['j', 'j', 'j']);
    expect(keyNames('jG\r ', NO_KEY)).toEqual(['j', 'G', 'return', 'space']);
    expect(keyNames('j', { ...NO_KEY, meta: true })).toEqual(['escape', 'j']);
  });

  it('have one name each', () => {
    expect(keyNames('', { ...NO_KEY, pageDown: true })).toEqual(['pagedown']);
    expect(keyNames('', { ...NO_KEY, tab: true, shift: true })).toEqual(['shift+tab']);
    expect(keyNames('l', { ...NO_KEY, ctrl: true })).toEqual(['ctrl+l']);
  });
});

describe('the selection', () => {
  it('goes by id and stays put when rows move', () => {
    const world = createScreenWorld(busySnapshot());
    world.press('j', 'j');
    expect(world.selectedRow()).toContain('phi-4');
    world.receive({
      type: 'delta',
      delta: { at: 1, modelOrder: ['broken-70b', 'mixtral-8x7b', 'gemma-27b', 'phi-4', 'qwen3-32b', 'llama4-scout'] },
    });
    expect(world.selectedRow()).toContain('phi-4');
    world.press('k');
    expect(world.selectedRow()).toContain('gemma-27b');
  });

  it('does not silently become another row when its row goes', () => {
    const world = createScreenWorld(busySnapshot());
    world.press('j', 'j');
    world.receive({ type: 'delta', delta: { at: 1, modelOrder: ['qwen3-32b', 'llama4-scout'] } });
    expect(world.selectedRow()).toBeUndefined();
    world.press('U', 'u', 'p');
    expect(world.asked).toEqual([]);
    expect(world.screen.getState().dialog).toBeNull();
    world.press('j');
    expect(world.selectedRow()).toContain('qwen3-32b');
  });

  it('stays on its decision while newer ones come in', () => {
    const world = createScreenWorld(busySnapshot());
    world.press('5', 'j');
    const chosen = world.selectedRow();
    for (let number = 10; number < 30; number += 1) {
      world.receive({ type: 'decision', decision: sampleDecision(number) });
      expect(world.selectedRow()).toBe(chosen);
    }
  });

  it('goes to the ends and no further', () => {
    const world = createScreenWorld(busySnapshot());
    world.press('G', 'j', 'j');
    expect(world.selectedRow()).toContain('broken-70b');
    world.press('g', 'k');
    expect(world.selectedRow()).toContain('qwen3-32b');
    world.press('pagedown', 'pagedown');
    expect(world.selectedRow()).toContain('broken-70b');
  });

  it('is brought into view in a list that is longer than its pane', () => {
    const snapshot = busySnapshot();
    const models = Array.from({ length: 50 }, (_, index) => ({ ...snapshot.models[4], id: `model-${index}` }));
    const world = createScreenWorld({ ...snapshot, models: models as never }, { columns: 80, rows: 24 });
    for (let index = 0; index < 50; index += 1) {
      expect(world.selectedRow()).toContain(`model-${index} `);
      world.press('j');
    }
  });
});

describe('the filter', () => {
  it('keeps rows that have every word and none of those after a !', () => {
    const world = createScreenWorld(busySnapshot());
    world.press('/', 'a', 'space', '!', 'q', 'w');
    expect(world.view().lists.models.map((model) => model.id)).not.toContain('qwen3-32b');
    expect(world.view().lists.models.map((model) => model.id)).toContain('gemma-27b');
    expect(world.text()).toContain('/a !qw_');
    world.press('return');
    expect(world.lines()[0]).toContain('filter "a !qw"');
  });

  it('takes keys as letters while it is typed, and Esc brings the old one back', () => {
    const world = createScreenWorld(busySnapshot());
    world.press('/', 'U', 'q', 'backspace', 'backspace', 'p', 'h', 'i');
    expect(world.view().lists.models.map((model) => model.id)).toEqual(['phi-4']);
    world.press('escape');
    expect(world.view().lists.models).toHaveLength(6);
    expect(world.asked).toEqual([]);
  });

  it('that nothing matches says so, and how to get rid of it', () => {
    const world = createScreenWorld(busySnapshot());
    world.press('/', 'z', 'z', 'return');
    expect(world.text()).toContain('no model matches "zz"');
    world.press('escape');
    expect(world.screen.getState().filter).toBe('');
  });
});

describe('actions', () => {
  it('go to the selected model at once where they destroy nothing', async () => {
    const world = createScreenWorld(busySnapshot());
    world.press('j', 'j', 'u', 'p', 'b', 'G', 'l');
    expect(world.asked).toEqual(['unload phi-4', 'pin phi-4', 'block phi-4', 'load broken-70b']);
    await Promise.resolve();
    expect(world.lines().at(-1)).toContain('load broken-70b: accepted');
  });

  it('say how they went also of a model with a long name on a narrow screen', async () => {
    const id = 'org/some-very-long-model-name-instruct-70b-q4_k_m';
    const world = createScreenWorld({ ...busySnapshot(), models: [sampleModel(id)] }, { columns: 60, rows: 20 });
    world.press('l');
    await Promise.resolve();
    expect(world.asked).toEqual([`load ${id}`]);
    expect(world.lines().at(-1)).toMatch(/load org\S+q4_k_m: accepted$/);
  });

  it('say what the supervisor has against them', async () => {
    const world = createScreenWorld(busySnapshot());
    world.result = { ok: false, message: 'It is blocked.' };
    world.press('G', 'l');
    await Promise.resolve();
    expect(world.lines().at(-1)).toContain('load broken-70b: It is blocked.');
  });

  it('say that there is no answer yet, for as long as there is none', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    try {
      const world = createScreenWorld(busySnapshot());
      const { promise, resolve } = Promise.withResolvers<ActionResult>();
      world.result = promise;
      world.press('p');
      vi.advanceTimersByTime(1_900);
      expect(world.screen.getState().message).toBeNull();
      vi.advanceTimersByTime(200);
      expect(world.lines().at(-1)).toContain('unpin qwen3-32b: no answer yet');
      resolve({ ok: true });
      await vi.waitFor(() => expect(world.lines().at(-1)).toContain('unpin qwen3-32b: accepted'));
      vi.advanceTimersByTime(10_000);
      expect(world.lines().at(-1)).not.toContain('no answer');
    } finally {
      vi.useRealTimers();
    }
  });

  it('ask first before they cut off requests, and Esc is safe', () => {
    const world = createScreenWorld(busySnapshot());
    world.press('u');
    expect(world.text()).toContain('Unload qwen3-32b with 2 requests in flight?');
    world.press('escape');
    expect(world.answers).toEqual([]);
    world.press('U', 'n', 'U', 'y');
    expect(world.answers).toEqual(['confirm kill qwen3-32b']);
    expect(world.asked).toEqual([]);
  });

  it('go to the model of the open page, not to one under it', () => {
    const world = createScreenWorld(busySnapshot());
    world.press('j', 'j', 'return', 'p');
    expect(world.asked).toEqual(['pin phi-4']);
  });

  it('are named in the last row only where they would do something', () => {
    const world = createScreenWorld(busySnapshot());
    const labels = (): string[] => hintsFor(world.view()).map((hint) => hint.label);
    expect(labels()).not.toContain('load');
    expect(labels()).toContain('unload');
    world.press('G');
    expect(labels()).toContain('load');
    expect(labels()).not.toContain('unload');
  });
});

describe('looking', () => {
  it('explains a decision with its ledger, its plan and who was passed over', () => {
    const world = createScreenWorld(busySnapshot());
    world.press('5', 'w');
    expect(world.text()).toContain('gemma-27b: idle 5m, gives 2.0 GiB on CUDA1');
    world.press('escape', 'j', 'return');
    expect(world.text()).toContain('qwen3-32b: busy (2 requests in flight)');
    expect(world.text()).toMatch(/CUDA0 +12\.6 +2\.6 +10\.0 +18\.4 +0\.0 +2\.0 +3\.6 +24\.0 +1\.0/);
  });

  it('explains why a model is not loaded', () => {
    const world = createScreenWorld(busySnapshot());
    world.press('G', 'w');
    expect(world.text()).toContain('out of memory on CUDA0: asked for 5.1 GiB');
    world.press('escape', 'k', 'w');
    expect(world.text()).toContain('(12s) as number 1, for 1 request: needs 6.2 GiB on CUDA0');
  });

  it('explains why a device is full', () => {
    const world = createScreenWorld(busySnapshot());
    world.press('1', 'return');
    expect(world.text()).toContain('held 11.2 + reserved 6.3 + external 2.0 + free 4.5 = 24.0 GiB');
    expect(world.text()).toMatch(/11\.2 GiB {2}held +qwen3-32b {2}READY, pinned, 2 requests in flight/);
  });

  it('shows all that is known of a model, its last exit and its log', () => {
    const world = createScreenWorld(busySnapshot());
    world.press('G', 'return');
    world.screen.setState({
      logTail: { model: 'broken-70b', lines: ['line one', 'line two'], dropped: 0, error: null },
    });
    expect(world.text()).toContain('| ggml_cuda: allocating 5222.4 MiB failed');
    expect(world.text()).toContain('line two');
  });

  it('shows a plan without doing anything', async () => {
    const world = createScreenWorld(busySnapshot());
    world.press('j', 'j', 'P');
    expect(world.asked).toEqual(['plan phi-4']);
    await Promise.resolve();
    expect(world.text()).toContain('FITS  phi-4 fits on CUDA1');
  });

  it('stands still while it is frozen, and goes on afterwards', () => {
    const world = createScreenWorld(busySnapshot());
    world.press('space');
    world.receive({ type: 'delta', delta: { at: 1, queue: [] } });
    expect(world.lines()[0]).toContain('FROZEN');
    expect(world.text()).toContain('Queue (2)');
    world.press('space');
    expect(world.text()).not.toContain('Queue (2)');
  });

  it('follows the end of a log, and scrolls back from there', () => {
    const world = createScreenWorld(busySnapshot());
    world.press('j', 'j', 'L');
    const lines = Array.from({ length: 100 }, (_, index) => `line ${index}`);
    world.screen.setState({ logTail: { model: 'phi-4', lines, dropped: 0, error: null } });
    expect(world.text()).toContain('line 99');
    world.press('k');
    expect(world.text()).not.toContain('line 99');
    world.press('g');
    expect(world.text()).toContain('line 0\n');
    world.press('j');
    expect(world.text()).not.toContain('line 0\n');
    world.press('G');
    expect(world.text()).toContain('line 99');
  });

  it('runs commands by name', () => {
    const world = createScreenWorld(busySnapshot());
    world.press(':', 'u', 'n', 'l', 'return');
    expect(world.screen.getState().dialog).toMatchObject({ kind: 'confirm', action: 'unload' });
    world.press('escape', ':', 'x', 'y', 'z', 'return');
    expect(world.text()).toContain('no command is called "xyz"');
  });
});

describe('leaving', () => {
  it('a supervisor of our own asks what becomes of it', () => {
    const world = createScreenWorld(busySnapshot(), { options: { ownsSupervisor: true } });
    world.press('q');
    expect(world.text()).toContain('d detach, everything keeps running');
    expect(world.text()).toContain('s stop 4 models and the supervisor, cuts off 2 requests');
    world.press('escape', 'q', 'd', 'q', 's');
    expect(world.answers).toEqual(['detach', 'stop-all']);
  });

  it('with Ctrl-C twice stops what this screen has started, and nothing else', () => {
    const own = createScreenWorld(busySnapshot(), { options: { ownsSupervisor: true } });
    own.press('ctrl+c', 'ctrl+c');
    expect(own.answers).toEqual(['stop-all']);
    const guest = createScreenWorld(busySnapshot());
    guest.press('ctrl+c', 'ctrl+c');
    expect(guest.answers).toEqual(['leave']);
  });

  it('never stops a supervisor that has come after the one which this screen has started', () => {
    const world = createScreenWorld(busySnapshot(), { options: { ownsSupervisor: true } });
    const { supervisor } = busySnapshot();
    world.receive({ type: 'disconnected', reason: 'Gone.' });
    world.receive({ type: 'snapshot', snapshot: busySnapshot() });
    world.press('ctrl+c', 'ctrl+c');
    expect(world.answers).toEqual(['stop-all']);
    for (const other of [{ pid: supervisor.pid + 1 }, { startedAt: supervisor.startedAt + 60_000 }]) {
      world.receive({ type: 'snapshot', snapshot: { ...busySnapshot(), supervisor: { ...supervisor, ...other } } });
      world.press('ctrl+c');
      expect(world.text()).toContain('The supervisor was there before this screen');
      world.press('ctrl+c');
      expect(world.answers.at(-1)).toBe('leave');
    }
  });

  it('is not asked about when nobody is there to be asked', () => {
    const world = createScreenWorld(busySnapshot());
    world.receive({ type: 'disconnected', reason: 'Gone.' });
    world.press('q');
    expect(world.answers).toEqual(['leave']);
  });
});
