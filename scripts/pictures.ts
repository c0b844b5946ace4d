/**
 * Makes the pictures of README.md and docs/screen.svg anew: `npm run pictures`. The program runs in a terminal of its own
 * with simulated devices and models; what stands in the cells is what is written. Times of the day are moved to the same
 * hour every time, so that little changes where nothing did.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { during } from '../test/real/during.js';
import type { TerminalCell, TestTerminal } from '../test/support/terminal.js';
import { withBlock } from './pictures/blocks.js';
import { startScenes, type Scenes } from './pictures/scenes.js';
import { svgOf } from './pictures/svg.js';

const COLUMNS = 120;
const NOON_SECONDS = 12 * 3600;
const root = dirname(import.meta.dirname);
const readmePath = join(root, 'README.md');
const svgPath = join(root, 'docs', 'screen.svg');

let readme = readFileSync(readmePath, 'utf8');
await during(await startScenes(), draw);
writeFileSync(readmePath, readme);

async function draw(scenes: Scenes): Promise<void> {
  await scenes.normal();
  await during(scenes.attach(COLUMNS, 24), async (terminal) => {
    await terminal.waitFor('Decisions');
    await terminal.settle(1_200);
    picture('normal', terminal);
    await scenes.eviction();
    await terminal.waitFor(/LOADING .*4\d%/u);
    picture('eviction', terminal);
    mkdirSync(dirname(svgPath), { recursive: true });
    writeFileSync(svgPath, svgOf(withFixedTimes(terminal.cells(), scenes)));
  });
  await scenes.outOfMemory();
  await during(scenes.attach(COLUMNS, 34), async (terminal) => {
    await terminal.waitFor('ran out of memory');
    terminal.type('!');
    await terminal.waitFor('What would help');
    await terminal.settle(1_200);
    picture('out-of-memory', terminal);
  });

  function picture(name: string, terminal: TestTerminal): void {
    const rows = withFixedTimes(terminal.cells(), scenes).map((row) => textOf(row));
    readme = withBlock(readme, name, rows.join('\n').trimEnd());
  }
}

function textOf(row: readonly TerminalCell[]): string {
  return row
    .map(({ text }) => text)
    .join('')
    .trimEnd();
}

/** Every time of the day moved so that the supervisor was started at noon; and its port is the usual one. */
function withFixedTimes(
  cells: readonly (readonly TerminalCell[])[],
  { served }: Scenes,
): readonly (readonly TerminalCell[])[] {
  const port = new URL(served.url).port;
  const started = firstTime(served.output());
  return cells.map((row) => {
    const text = row.map((cell) => cell.text).join('');
    const moved = text
      .replaceAll(/\b(\d\d):(\d\d):(\d\d)\b/gu, (_all, ...parts: string[]) => timeAt(secondsOf(parts) - started))
      // As wide as before: a shorter number would move what stands beside it.
      .replaceAll(`:${port}`, ':8080'.padEnd(port.length + 1));
    return row.map((cell, index) => ({ ...cell, text: moved[index] ?? ' ' }));
  });
}

function firstTime(output: string): number {
  return secondsOf(/^(\d\d):(\d\d):(\d\d)/mu.exec(output)?.slice(1) ?? []);
}

function secondsOf([hours = '0', minutes = '0', seconds = '0']: readonly string[]): number {
  return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
}

function timeAt(sinceStart: number): string {
  const at = (NOON_SECONDS + sinceStart + 86_400) % 86_400;
  return [at / 3600, (at / 60) % 60, at % 60].map((part) => String(Math.floor(part)).padStart(2, '0')).join(':');
}
