import { describe, expect, it } from 'vitest';
import { copySequence } from '../../components/clipboard.js';
import { offeredCommands } from '../../components/keys/commands.js';
import { STOCK_ROUTER } from '../../src/client/sources.js';
import { busySnapshot } from '../support/snapshots.js';
import { createScreenWorld, type ScreenWorld } from '../support/screen-world.js';

function type(world: ScreenWorld, text: string): void {
  world.press(...Array.from(text, (letter) => (letter === ' ' ? 'space' : letter)));
}

function run(world: ScreenWorld, line: string): void {
  world.press(':');
  type(world, line);
  world.press('return');
}

describe('the palette', () => {
  it('takes the same verbs as the command line, with the model that is named, whatever is selected', () => {
    const world = createScreenWorld(busySnapshot());
    run(world, 'pin phi-4');
    run(world, 'unpin qwen3-32b');
    run(world, 'load mixtral-8x7b');
    run(world, 'reload');
    expect(world.asked).toEqual(['pin phi-4', 'unpin qwen3-32b', 'load mixtral-8x7b', 'reload']);
    run(world, 'why phi-4');
    expect(world.text()).toContain('Why: phi-4');
    run(world, 'logs gemma-27b');
    expect(world.text()).toContain('Log of gemma-27b');
    run(world, 'unload qwen3-32b');
    expect(world.text()).toContain('Unload qwen3-32b with 2 requests in flight?');
  });

  it('takes back a word with Ctrl-W, and everything with Ctrl-U', () => {
    const world = createScreenWorld(busySnapshot());
    world.press(':');
    type(world, 'load phi-4 ');
    world.press('ctrl+w');
    expect(world.screen.getState().input?.text).toBe('load ');
    world.press('ctrl+w', 'ctrl+w');
    expect(world.screen.getState().input?.text).toBe('');
    type(world, 'load phi');
    world.press('ctrl+u');
    expect(world.screen.getState().input?.text).toBe('');
  });

  it('takes a typed verb at its word: pin never unpins', () => {
    const world = createScreenWorld(busySnapshot());
    run(world, 'pin qwen3-32b');
    expect(world.asked).toEqual(['pin qwen3-32b']);
    world.press('p');
    expect(world.asked.at(-1)).toBe('unpin qwen3-32b');
  });

  it('asks the supervisor why not, where a typed verb cannot do anything but no harm either', async () => {
    const world = createScreenWorld(busySnapshot());
    world.result = { ok: false, message: "model 'mixtral-8x7b' is not loaded" };
    run(world, 'park mixtral-8x7b');
    expect(world.asked).toEqual(['park mixtral-8x7b']);
    await Promise.resolve();
    expect(world.lines().at(-1)).toContain('park mixtral-8x7b: is not loaded');
    run(world, 'kill mixtral-8x7b');
    expect(world.asked).toHaveLength(1);
    expect(world.lines().at(-1)).toContain('kill does nothing: the model is unloaded');
  });

  it('understands what is cut short where only one thing begins like that', () => {
    const world = createScreenWorld(busySnapshot());
    run(world, 'meas phi');
    expect(world.asked).toEqual(['measure phi-4']);
  });

  it.each([
    ['laod', 'no command is called "laod"; the nearest is load'],
    ['un', 'no command is called "un"; these begin so: unload, unpin, unblock'],
    ['load fi-4', 'no model is called "fi-4"; the nearest is phi-4'],
    ['load nosuchmodel', 'no model is called "nosuchmodel"; Tab lists those that there are'],
    [':th', 'no command is called ":th"; the nearest is theme'],
    ['--laod', 'no command is called "--laod"; the nearest is load'],
    ['xyzzyx', 'no command is called "xyzzyx"'],
    ['help me', 'help is typed without anything after it'],
    ['sort size', 'sort takes catalog, name, state, memory or idle, not "size"'],
    ['load \u001b[2J', 'no model is called "'],
  ])('says in one sentence why it does not understand "%s"', (line, sentence) => {
    const world = createScreenWorld(busySnapshot());
    run(world, line);
    expect(world.asked).toEqual([]);
    expect(world.lines().at(-1)).toContain(sentence);
    expect(world.screen.getState().message?.text).not.toContain('\n');
  });

  it('completes verbs and names with Tab, and shows what there is to choose from', () => {
    const world = createScreenWorld(busySnapshot());
    world.press(':');
    type(world, 'unl');
    expect(world.lines().at(-1)).toContain(':unl_  unload');
    world.press('tab');
    type(world, 'q');
    world.press('tab');
    expect(world.lines().at(-1)).toContain(':unload qwen3-32b_');
    world.press('ctrl+u');
    type(world, 'un');
    world.press('tab');
    expect(world.lines().at(-2)).toMatch(/^ {2}unload +unpin +unblock$/u);
    world.press('ctrl+u');
    type(world, 'sort n');
    world.press('tab', 'return');
    expect(world.text()).toContain('by name');
  });

  it('lists every command with Tab on an empty line, and the next Tab and the arrows choose among them', () => {
    const world = createScreenWorld(busySnapshot());
    const typed = (): string => world.screen.getState().input?.text ?? '';
    const offered = offeredCommands(world.view()).map(({ name }) => name);
    world.press(':', 'tab');
    expect(typed()).toBe('');
    const words = world.text().split(/\s+/u);
    expect(words).toEqual(expect.arrayContaining(offered));
    expect(world.lines().at(-1)).toContain('Tab and arrows choose');
    world.press('tab');
    expect(typed()).toBe(offered[0]);
    expect(world.text()).toContain(`> ${offered[0] ?? ''}`);
    expect(world.text(), 'what it does stands above').toContain('load the model, making room');
    world.press('right', 'tab', 'left', 'shift+tab');
    expect(typed()).toBe(offered[0]);
    world.press('left');
    expect(typed(), 'around the end').toBe(offered.at(-1));
    world.press('right', 'down');
    expect(offered.indexOf(typed()), 'one row down').toBeGreaterThan(3);
    world.press('up');
    expect(typed()).toBe(offered[0]);
  });

  it('runs what was chosen, lists what may follow it, and goes on from it when more is typed', () => {
    const world = createScreenWorld(busySnapshot());
    world.press(':', 'tab', 'tab', 'space', 'tab');
    expect(world.text()).toContain('mixtral-8x7b');
    world.press('tab', 'return');
    expect(world.asked).toEqual(['load qwen3-32b']);
    world.press(':', 'tab', 'tab', 'backspace');
    expect(world.screen.getState().input).toEqual({ kind: 'command', text: 'loa', before: '' });
    expect(world.lines().at(-1)).toContain(':loa_  load');
  });

  it('lists no more rows than half of the screen, and always the one that was chosen', () => {
    const world = createScreenWorld(busySnapshot(), { columns: 60, rows: 16 });
    world.press(':', 'tab');
    for (const { name } of offeredCommands(world.view())) {
      world.press('tab');
      expect(world.lines()).toHaveLength(16);
      expect(world.text()).toContain(`> ${name}`);
      expect(world.lines()[0]).toContain('llm-tui');
    }
  });

  it.each([
    ['xy', 'no command begins with "xy"'],
    ['load zz', 'nothing begins with "zz" that could follow'],
    ['redraw x', 'redraw is typed without anything after it'],
  ])('says that there is nothing to complete "%s" with, until something else is typed', (line, sentence) => {
    const world = createScreenWorld(busySnapshot());
    world.press(':');
    type(world, line);
    world.press('tab');
    expect(world.lines().at(-1)).toBe(` :${line}_  ${sentence}`);
    world.press('backspace');
    expect(world.lines().at(-1)).not.toContain(sentence);
  });

  it('suggests nothing where nothing is near', () => {
    const world = createScreenWorld(busySnapshot());
    run(world, 'xyzzyx');
    expect(world.screen.getState().message?.text).toBe('no command is called "xyzzyx"');
  });

  it('brings back what was typed before, and keeps what is being typed meanwhile', () => {
    const world = createScreenWorld(busySnapshot());
    for (const line of ['why phi-4', 'sort name', 'why phi-4']) run(world, line);
    world.press('escape', ':');
    type(world, 'he');
    const typed = (): string => world.screen.getState().input?.text ?? '';
    world.press('up');
    expect(typed()).toBe('why phi-4');
    world.press('up');
    expect(typed()).toBe('sort name');
    world.press('up');
    expect(typed()).toBe('sort name');
    world.press('down', 'down');
    expect(typed()).toBe('he');
    world.press('up', 'backspace', 'down');
    expect(typed()).toBe('why phi-');
  });

  it('has no verbs that what is looked at cannot do', () => {
    const world = createScreenWorld(busySnapshot(), { options: { source: STOCK_ROUTER } });
    run(world, 'pin phi-4');
    expect(world.asked).toEqual([]);
    expect(world.lines().at(-1)).toContain('a llama-server router has no pin');
    world.press('p');
    expect(world.lines().at(-1)).toContain('a llama-server router has no pin');
    run(world, 'load mixtral-8x7b');
    expect(world.asked).toEqual(['load mixtral-8x7b']);
  });
});

describe('the palette of a screen that only looks', () => {
  it('says so of what acts, and completes none of it', () => {
    const world = createScreenWorld(busySnapshot(), { options: { readOnly: true } });
    run(world, 'load mixtral-8x7b');
    expect(world.asked).toEqual([]);
    expect(world.lines().at(-1)).toContain('this screen is read-only');
    world.press(':', 'l', 'o');
    expect(world.lines().at(-1)).toContain(':lo_  logs');
    expect(world.lines().at(-1)).not.toContain('load');
  });
});

describe('copying', () => {
  const decode = (sequence: string): string =>
    Buffer.from(sequence.split(';')[2]?.split('\u0007')[0] ?? '', 'base64').toString('utf8');

  it('asks the terminal with OSC 52, in any language', () => {
    const { sequence, whole } = copySequence('modèle 漢', {});
    expect(sequence).toBe(`\u001b]52;c;${Buffer.from('modèle 漢').toString('base64')}\u0007`);
    expect(decode(sequence)).toBe('modèle 漢');
    expect(whole).toBe(true);
  });

  it.each([{ TMUX: '/tmp/tmux-0/default,1,0' }, { TERM: 'tmux-256color' }, { TERM: 'screen' }])(
    'asks tmux itself, and the terminal around it (%o)',
    (env) => {
      const plain = copySequence('x', {}).sequence;
      const { sequence } = copySequence('x', env);
      expect(sequence).toBe(`${plain}\u001bPtmux;\u001b\u001b]52;c;eA==\u0007\u001b\\`);
    },
  );

  it('stops where terminals do, between two characters, and says so', () => {
    const { sequence, whole } = copySequence('漢'.repeat(40_000), {});
    expect(whole).toBe(false);
    expect(sequence.length).toBeLessThan(70_000);
    expect(decode(sequence)).toMatch(/^漢+$/u);
  });
});

describe('a key that stands for nothing', () => {
  it('says so, instead of leaving the last message there as if it were the answer', () => {
    const world = createScreenWorld(busySnapshot());
    world.press('x');
    expect(world.lines().at(-1)).toContain('x is no key here; ? lists them');
  });
});
