import { describe, expect, it } from 'vitest';
import { questionOf } from '../../components/layout/dialog.js';
import { busySnapshot, readyModel, sampleSnapshot } from '../support/snapshots.js';
import { createScreenWorld, type ScreenWorld } from '../support/screen-world.js';

/** The rows of the question, from its rule on. */
function sheet(world: ScreenWorld, title: string): string[] {
  const lines = world.lines();
  return lines.slice(lines.findLastIndex((line) => line.startsWith(`== ${title} =`)));
}

describe('a question', () => {
  const sizes = [
    [140, 40],
    [100, 30],
    [80, 24],
    [60, 20],
    [60, 16],
  ] as const;

  it.each(sizes)('shows every answer whole at %i x %i, and no keys but its own', (columns, rows) => {
    for (const ownsSupervisor of [true, false]) {
      for (const [key, title] of [
        ['q', 'Leave'],
        ['u', 'Unload'],
        ['U', 'Kill'],
      ] as const) {
        const world = createScreenWorld(busySnapshot(), { columns, rows, options: { ownsSupervisor } });
        world.press(key);
        const { dialog } = world.screen.getState();
        if (dialog === null) throw new Error(`${key} asks nothing`);
        const { choices, text } = questionOf(dialog, world.view());
        const shown = sheet(world, title).join(' ').replace(/\s+/g, ' ');
        expect(shown).toContain(text);
        for (const { label } of choices) expect(shown).toContain(label);
        expect(shown).toContain('Esc cancel');
        expect(world.text()).not.toMatch(/Tab pane|\/ filter|q leave/);
      }
    }
  });

  it.each(['d', 'l'])('about leaving takes %s, whoever has started the supervisor', (key) => {
    for (const ownsSupervisor of [true, false]) {
      const world = createScreenWorld(busySnapshot(), { options: { ownsSupervisor } });
      world.press('q', key);
      expect(world.answers).toEqual([ownsSupervisor ? 'detach' : 'leave']);
    }
  });

  it('about a busy model stays true when its requests end meanwhile', () => {
    const world = createScreenWorld(busySnapshot());
    world.press('u');
    world.receive({ type: 'delta', delta: { at: 1, models: [readyModel('qwen3-32b', 1, { requests: 0 })] } });
    expect(world.text()).toContain('Unload qwen3-32b? No request is in flight any more: it leaves at once.');
    world.press('escape', 'U');
    expect(world.text()).toMatch(/Kill qwen3-32b at once\?\n/);
  });

  it.each([
    [0, 's stop the supervisor'],
    [1, 's stop 1 model and the supervisor'],
    [2, 's stop 2 models and the supervisor'],
  ])('says what stops of %i models as a person would', (count, said) => {
    const models = ['a', 'b'].slice(0, count).map((id) => readyModel(id, 1));
    const world = createScreenWorld(sampleSnapshot({ models }), {
      columns: 100,
      rows: 30,
      options: { ownsSupervisor: true },
    });
    world.press('q');
    expect(world.text()).toContain(said);
  });

  it.each(sizes)('says of a key that it is no answer, beside the answers, at %i x %i', (columns, rows) => {
    const world = createScreenWorld(busySnapshot(), { columns, rows });
    world.press('u', 'x');
    expect(world.view().screen.dialog).not.toBeNull();
    const shown = sheet(world, 'Unload').join('\n');
    expect(shown).toContain('x is no answer here');
    expect(shown).toContain('Esc cancel');
  });

  it('shows its answers rather than the size where there is not room for both', () => {
    const world = createScreenWorld(sampleSnapshot(), { columns: 40, rows: 3, options: { ownsSupervisor: true } });
    world.press('q');
    expect(world.lines()[2]).toBe('Esc cancel');
  });

  it('is there with its answers wherever it fits, whole, and the size where there is room for that too', () => {
    const world = createScreenWorld(busySnapshot(), { columns: 50, rows: 10, options: { ownsSupervisor: true } });
    world.press('q');
    const text = world.text().replace(/\s+/gu, ' ');
    expect(text).toContain('llm-tui needs 60 x 16, this is 50 x 10 What becomes of the models?');
    expect(text).toContain('s stop 4 models and the supervisor, cuts off 2 requests Esc cancel');
  });
});

describe('the last row', () => {
  it.each([140, 80, 60])('says what there is to say beside the keys at %i columns', (columns) => {
    const world = createScreenWorld(busySnapshot(), { columns, rows: 24 });
    const text = 'pin phi-4: accepted';
    world.screen.setState({ message: { tone: 'good', text, until: Infinity } });
    expect(world.lines().at(-1)).toMatch(/^ \S+ \w+ .*q leave +pin phi-4: accepted$/);
    expect(world.lines(), 'and no more rows than there are').toHaveLength(24);
  });

  it.each([
    [140, 40],
    [80, 24],
    [60, 16],
  ])('has what does not fit there on rows of its own at %i x %i, all of it, and all keys below', (columns, rows) => {
    const world = createScreenWorld(busySnapshot(), { columns, rows });
    for (const keys of [[], ['w'], ['escape', ':']]) {
      world.screen.setState({ message: null });
      world.press(...keys);
      const keysAlone = world.lines().at(-1);
      const text = `it begins ${'and goes on '.repeat(15)}and ends`;
      world.screen.setState({ message: { tone: 'bad', text, until: Infinity } });
      const lines = world.lines();
      expect(lines).toHaveLength(rows);
      expect(lines.join(' ').replace(/\s+/gu, ' ')).toContain(text);
      expect(lines.at(-1)).toBe(keysAlone);
    }
  });

  it('never gives more than half of the screen to what is said', () => {
    const world = createScreenWorld(busySnapshot(), { columns: 60, rows: 16 });
    world.screen.setState({
      message: { tone: 'bad', text: `it begins ${'and goes on '.repeat(100)}`, until: Infinity },
    });
    expect(world.lines()).toHaveLength(16);
    expect(world.text()).toContain('== Models');
    expect(world.text()).toContain(' it begins and');
  });
});
