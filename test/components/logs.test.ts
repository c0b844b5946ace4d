import { describe, expect, it, vi } from 'vitest';
import { readLogs } from '../../components/log-reader.js';
import { logWindow, movedBy, type LogRoom } from '../../components/panes/log-window.js';
import { rowWidth } from '../../components/widgets/row.js';
import { textWidth } from '../../components/text/width.js';
import type { LogMessage } from '../../src/client/types.js';
import { createScreenStore, openPage, type LogTail } from '../../src/store/screen-store.js';
import { busySnapshot } from '../support/snapshots.js';
import { createScreenWorld, type ScreenWorld } from '../support/screen-world.js';

const numbered = (count: number, dropped = 0): LogTail => ({
  model: 'phi-4',
  lines: Array.from({ length: count }, (_, index) => `line ${dropped + index}`),
  dropped,
  error: null,
});

/** A screen with the log of phi-4 open. */
function withLog(tail: LogTail, settings: { columns?: number; rows?: number } = {}): ScreenWorld {
  const world = createScreenWorld(busySnapshot(), settings);
  world.press('j', 'j', 'L');
  world.screen.setState({ logTail: tail });
  return world;
}

describe('a log on its page', () => {
  it('follows its end, holds what is looked at while more comes, and follows again at the end', () => {
    const world = withLog(numbered(100));
    expect(world.text()).toContain('line 99');
    expect(world.text()).toContain('following');
    world.press('k', 'k');
    const held = world.lines().slice(5, 30);
    expect(world.text()).toContain('held (f follows)');
    // Meanwhile older lines are no longer kept, and newer ones came.
    world.screen.setState({ logTail: numbered(100, 20) });
    expect(world.lines().slice(5, 30)).toEqual(held);
    world.press('f');
    expect(world.text()).toContain('line 119');
    world.press('f');
    world.screen.setState({ logTail: numbered(200, 20) });
    expect(world.text()).not.toContain('line 219');
    world.press('G');
    expect(world.text()).toContain('line 219');
    expect(world.text()).toContain('following');
  });

  it('goes on with what there is once what was held is no longer kept', () => {
    const world = withLog(numbered(100));
    world.press('g');
    expect(world.text()).toContain('line 0\n');
    world.screen.setState({ logTail: numbered(100, 500) });
    expect(world.text()).toContain('line 500\n');
    expect(world.text()).toContain('lines 1-');
  });

  it('is scrolled by rows and pages, also through one line that is longer than the screen', () => {
    const long = Array.from({ length: 400 }, (_, index) => `word${index}`).join(' ');
    const world = withLog(
      { model: 'phi-4', lines: ['before', long, 'after'], dropped: 0, error: null },
      { columns: 60, rows: 20 },
    );
    world.press('g');
    const seen = new Set<string>();
    const look = (): void => {
      for (const [word] of world.text().matchAll(/word\d+/gu)) seen.add(word);
    };
    look();
    for (let page = 0; page < 10; page += 1) {
      world.press('pagedown');
      look();
    }
    expect(seen.size).toBe(400);
    expect(world.text()).toContain('after');
    world.press('pageup', 'pageup', 'pageup', 'pageup', 'pageup', 'pageup', 'pageup', 'pageup');
    expect(world.text()).toContain('before');
  });

  it('cuts long lines at the edge where they are not wrapped, with the same line on top', () => {
    const lines = Array.from({ length: 40 }, (_, index) => `${index}${'x'.repeat(300)}`);
    const world = withLog({ model: 'phi-4', lines, dropped: 0, error: null });
    world.press('g', 'j', 'j', 'j');
    const top = (): string | undefined => /^ +(\d+)x/mu.exec(world.text())?.[1];
    expect(top()).toBe('1');
    world.press('W');
    expect(top()).toBe('1');
    const row = world.lines().find((line) => line.startsWith('  1x')) ?? '';
    expect(row).toHaveLength(140);
    expect(row.endsWith('x..')).toBe(true);
  });

  it('finds a text in any case: the newest first while it follows, then on and back and around', () => {
    const lines = Array.from({ length: 300 }, (_, index) =>
      index % 100 === 7 ? `Error number ${index}` : `line ${index}`,
    );
    const world = withLog({ model: 'phi-4', lines, dropped: 0, error: null });
    world.press('/', ...Array.from('error'), 'return');
    expect(world.text()).toContain('Error number 207');
    expect(world.text()).toContain('"error" 3 of 3');
    world.press('n');
    expect(world.text()).toContain('Error number 7\n');
    expect(world.text()).toContain('searched on from the beginning');
    world.press('n');
    expect(world.text()).toContain('Error number 107');
    world.press('N', 'N');
    expect(world.text()).toContain('Error number 207');
    world.press('y');
    expect(world.copied).toEqual(['Error number 207']);
    world.press('/', ...Array.from('nowhere'), 'return');
    expect(world.text()).toContain('nothing in this log matches "nowhere"');
    world.press('/', ...Array.from('line'), 'escape');
    expect(world.text()).toContain('"nowhere" 0');
  });

  it.each([60, 80, 100, 200])('never draws wider than the screen: %i columns', (columns) => {
    const lines = Array.from({ length: 200 }, (_, index) => `${index} ${'wide 漢字 '.repeat(index % 40)}`);
    const world = withLog({ model: 'phi-4', lines, dropped: 0, error: null }, { columns, rows: 16 });
    world.press('/', ...Array.from('w'.repeat(80)), 'return');
    for (const keys of [['g'], ['W'], ['pagedown'], ['space'], ['G'], ['W']]) {
      world.press(...keys);
      expect(world.lines()).toHaveLength(16);
      for (const line of world.lines()) expect(textWidth(line)).toBeLessThanOrEqual(columns);
    }
  });

  it('stands still while the view is frozen', () => {
    const world = withLog(numbered(50));
    world.press('space');
    world.screen.setState({ logTail: numbered(80) });
    expect(world.text()).toContain('line 49');
    expect(world.text()).not.toContain('line 79');
    expect(world.text()).toContain('frozen (space)');
    world.press('space');
    expect(world.text()).toContain('line 79');
  });

  it('lays out only what is shown: a log of the longest lines costs no more than a screen of them', () => {
    const lines = Array.from({ length: 2_000 }, () => 'é漢 '.repeat(1_365));
    const tail = { model: 'phi-4', lines, dropped: 0, error: null };
    const room: LogRoom = { width: 100, height: 40, mark: '..' };
    const { rows, top } = logWindow(tail, { top: null, wrap: true }, room);
    expect(rows).toHaveLength(40);
    for (const { text } of rows) expect(textWidth(text)).toBeLessThanOrEqual(100);
    expect(movedBy(tail, top, -1, true, room)).toEqual({ line: top.line, row: top.row - 1 });
    expect(movedBy(tail, top, Infinity, true, room)).toEqual(top);
  });

  // The terminal cuts what is too long as well: what is drawn there would look right without this.
  it.each([
    ['a line of 64 KB', 'L0ng '.repeat(13_000)],
    ['a word of 64 KB', 'W'.repeat(65_000)],
    ['wide characters', '漢字'.repeat(200)],
    ['emoji', '👩‍👩‍👧‍👦🏳️‍🌈👍🏽🇩🇪'.repeat(60)],
    ['combining characters', 'e\u0301\u0302'.repeat(300)],
    ['tabs', 'a\tb'.repeat(90)],
  ])('hands out no row of %s that is wider than its room, wrapped or cut', (_what, line) => {
    const tail = { model: 'phi-4', lines: [line, line], dropped: 0, error: null };
    for (const width of [9, 58, 118]) {
      for (const wrap of [true, false]) {
        const { rows } = logWindow(tail, { top: null, wrap }, { width, height: 20, mark: '..' });
        expect(rows.length).toBeGreaterThan(0);
        for (const { text } of rows) expect(textWidth(text)).toBeLessThanOrEqual(width);
      }
    }
    for (const columns of [60, 120]) {
      for (const row of withLog(tail, { columns, rows: 24 }).frame().rows) {
        expect(rowWidth(row)).toBeLessThanOrEqual(columns);
      }
    }
  });
});

describe('the reader of a log', () => {
  it('follows the model whose page is open, in bundles, and keeps no more than it may', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    try {
      const screen = createScreenStore({ columns: 80, rows: 24 });
      const followed: string[] = [];
      let say = (_message: LogMessage): void => undefined;
      const end = readLogs(
        {
          followLog(model, listener) {
            followed.push(model);
            say = listener;
            return () => void followed.push(`not ${model}`);
          },
        },
        screen,
      );
      openPage(screen, { kind: 'logs', model: 'a' });
      let drawn = 0;
      const unsubscribe = screen.subscribe(() => (drawn += 1));
      say({ type: 'start' });
      for (let index = 0; index < 10_000; index += 1)
        say({ type: 'lines', lines: [`line ${index}`, 'x'.repeat(70_000)] });
      vi.advanceTimersByTime(1_000);
      const { logTail } = screen.getState();
      expect(drawn).toBeLessThan(5);
      expect(logTail?.lines).toHaveLength(2_000);
      expect(logTail?.lines.at(-2)).toBe('line 9999');
      expect(logTail?.lines.at(-1)).toHaveLength(4_096);
      expect((logTail?.dropped ?? 0) + 2_000).toBe(20_000);

      say({ type: 'failed', message: 'Gone.' });
      vi.advanceTimersByTime(1_000);
      expect(screen.getState().logTail).toMatchObject({ error: 'Gone.' });
      expect(screen.getState().logTail?.lines).toHaveLength(2_000);
      say({ type: 'start' });
      say({ type: 'lines', lines: ['anew'] });
      vi.advanceTimersByTime(1_000);
      expect(screen.getState().logTail).toMatchObject({ lines: ['anew'], dropped: 20_000, error: null });

      openPage(screen, { kind: 'detail', model: 'b' });
      openPage(screen, { kind: 'help' });
      expect(followed).toEqual(['a', 'not a', 'b', 'not b']);
      unsubscribe();
      end();
    } finally {
      vi.useRealTimers();
    }
  });
});
