import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startFakeSupervisor, type FakeSupervisor } from '../support/fake-supervisor.js';
import { busySnapshot } from '../support/snapshots.js';
import { startScreen } from '../support/terminal-screen.js';
import type { TestTerminal } from '../support/terminal.js';

const ESC = '\u001b';

/** What a child may print to get at what is not its own. The supervisor cleans its lines; the screen relies on nobody. */
const EVIL: Readonly<Record<string, string>> = {
  'cursor movement': `${ESC}[1;1HGOTCHA${ESC}[2J${ESC}[H${ESC}[5A${ESC}[99D${ESC}M${ESC}D`,
  'C1 controls': '\u009b2J\u009b1;1HGOTCHA\u0085\u0084',
  'titles and hyperlinks': `${ESC}]0;GOTCHA\u0007${ESC}]8;;http://evil\u0007link${ESC}]52;c;R09UQ0hB\u0007`,
  'modes and resets': `${ESC}c${ESC}[?1049l${ESC}[?25h${ESC}[31m${ESC}(0${ESC}#8${ESC}[5;10r`,
  'device strings': `${ESC}P1$r0m${ESC}\\${ESC}_GOTCHA${ESC}\\${ESC}^x${ESC}\\`,
  bells: '\u0007\u0007\u0007',
  'a line of 64 KB': 'L0ng '.repeat(13_000),
  'a word of 64 KB': 'W'.repeat(65_000),
  'wide characters': '漢字'.repeat(200),
  'emoji of all kinds': '👩‍👩‍👧‍👦🏳️‍🌈👍🏽🇩🇪❤️1️⃣'.repeat(60),
  'combining characters': `e${'\u0301\u0302\u0303'.repeat(300)}${'n\u0303'.repeat(300)}`,
  'combining characters first': '\u0301\u0302 at the start',
  'Hangul in pieces': '\u1112\u1161\u11ab'.repeat(100),
  'right to left': `\u202eevil\u202c \u2067\u05e9\u05dc\u05d5\u05dd\u2069 ${'\u0645\u0631\u062d\u0628\u0627 '.repeat(50)}`,
  tabs: 'a\tb\t\tc'.repeat(60),
  'line ends': 'one\rtwo\vthree\ffour\u2028five\u2029six\bseven',
  'broken text': '\ud800 \udfff \ufffe \uffff \u0000 \u007f',
  'zero width': 'a\u200b\u200d\u200e\u2060\ufeffb'.repeat(100),
};

/** The rows that belong to the log on a page of 120 × 36: below its title, above the last row. */
const FIRST_ROW = 5;
const LAST_ROW = 34;

let supervisor: FakeSupervisor;
let terminal: TestTerminal;
beforeAll(async () => {
  supervisor = await startFakeSupervisor(busySnapshot());
  terminal = startScreen(supervisor, { env: { FORCE_COLOR: '1' } });
  await terminal.waitFor('qwen3-32b');
  terminal.type('L');
});
afterAll(async () => {
  await terminal[Symbol.asyncDispose]();
  await supervisor[Symbol.asyncDispose]();
});

let logs = 0;

/** Every cell outside the log once that has been drawn, with its colours; how old things are does not count. */
async function cellsAround(lines: readonly string[]): Promise<readonly string[]> {
  logs += 1;
  supervisor.logs = [...supervisor.logs, ...lines, `the end of part ${logs}`];
  await terminal.waitFor(`the end of part ${logs}`);
  terminal.type(' ');
  await terminal.waitFor('FROZEN');
  await terminal.settle(100);
  const cells = terminal.cells();
  terminal.type(' ');
  await terminal.waitFor((rows) => !(rows[0] ?? '').includes('FROZEN'));
  return cells.flatMap((row, index) => {
    if (index >= FIRST_ROW && index <= LAST_ROW) return [];
    const text = row.map(({ text: character }) => character).join('');
    // Behind its figures a device says how old they are; behind its name a log says which of its lines are shown.
    const ends =
      index === 0 ? text.indexOf('up ') : index < 4 ? text.indexOf('GiB') : index === 4 ? text.indexOf('lines') : 120;
    return row
      .slice(0, ends)
      .map(({ text: character, look }) => `${character} ${look}`)
      .join('|');
  });
}

describe.each([
  { name: 'wrapped', key: '' },
  { name: 'cut at the edge', key: 'W' },
])('what a child prints, $name,', ({ key }) => {
  let expected: readonly string[];
  beforeAll(async () => {
    terminal.type(key);
    expected = await cellsAround(Array.from({ length: 40 }, () => 'harmless'));
    expect(expected.join('')).toContain('q');
  });

  it.each(Object.keys(EVIL))('touches no cell outside its log by %s', async (name) => {
    expect(await cellsAround([EVIL[name] ?? '', 'harmless'])).toEqual(expected);
  });

  it('touches none by all of it together', async () => {
    expect(await cellsAround(Object.values(EVIL).flatMap((line) => [line, 'harmless', line]))).toEqual(expected);
  });
});
