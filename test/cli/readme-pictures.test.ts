import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../components/keys/commands.js';
import { keyLabel } from '../../components/keys/key-names.js';
import { UNICODE } from '../../components/theme/glyphs.js';
import { blockOf, withBlock } from '../../scripts/pictures/blocks.js';
import { createScreenWorld } from '../support/screen-world.js';
import { busySnapshot } from '../support/snapshots.js';

const readme = readFileSync(resolve(import.meta.dirname, '../../README.md'), 'utf8');
const HINT = 'run npm run pictures';

function picture(name: string): string {
  const text = blockOf(readme, name);
  if (text === null || text.trim() === '') throw new Error(`README.md has no picture "${name}": ${HINT}`);
  return text;
}

/** Words as they stand in the row that has this one. */
function titles(text: string, word: string): readonly string[] {
  return (text.split('\n').find((line) => line.includes(word)) ?? '').trim().split(/\s{2,}| (?=[A-Z])/u);
}

const today = createScreenWorld(busySnapshot(), { columns: 120, rows: 24, options: { glyphs: UNICODE } }).text();

describe('the pictures in the README', () => {
  it.each(['normal', 'eviction'])('%s has the panes and column titles of today', (name) => {
    expect(titles(picture(name), ' NAME ').slice(0, 6), HINT).toEqual(titles(today, ' NAME ').slice(0, 6));
    for (const word of ['held', 'reserved', 'external', 'free', 'Models (', 'Queue', 'Measure queue', 'Decisions']) {
      expect(picture(name), HINT).toContain(word);
      expect(today, word).toContain(word);
    }
  });

  it.each(['normal', 'eviction', 'out-of-memory'])('%s names the keys of today', (name) => {
    const hints = [...COMMANDS.map(({ keys, hint }) => `${keyLabel(keys[0] ?? '')} ${hint ?? ''}`), 'Esc back'];
    const last = (picture(name).split('\n').at(-1) ?? '').trim().split(/ {2,}/u);
    expect(last.length).toBeGreaterThan(3);
    expect(
      last.filter((hint) => !hints.includes(hint) && !/^j k .*scroll$/u.test(hint)),
      HINT,
    ).toEqual([]);
  });

  it('show an eviction, and a report of what ran out of memory', () => {
    expect(picture('eviction')).toMatch(/LOADING[^]*evict/u);
    expect(picture('out-of-memory')).toMatch(/What would help[^]*Who held[^]*The minute before/u);
  });

  it('fit into a terminal of 120 columns', () => {
    for (const name of ['normal', 'eviction', 'out-of-memory']) {
      for (const line of picture(name).split('\n')) expect(line.length, line).toBeLessThanOrEqual(120);
    }
  });

  it('come as one that has colours, whose text is that of the screen', () => {
    const svg = readFileSync(resolve(import.meta.dirname, '../../docs/screen.svg'), 'utf8');
    expect(svg).toMatch(/^<svg [^>]*>[^]*<\/svg>\n$/u);
    for (const word of ['Models (', 'LOADING', 'Decisions']) expect(svg, HINT).toContain(word);
    expect(readme).toContain('](docs/screen.svg)');
  });
});

describe('a picture in a document', () => {
  const document = 'before\n<!-- picture: one -->\n\n```text\nold\n```\n\n<!-- /picture -->\nafter';

  it('is replaced, and nothing else is', () => {
    const text = 'new $& line\n$1';
    expect(blockOf(withBlock(document, 'one', text), 'one')).toBe(text);
    expect(withBlock(document, 'one', 'old')).toBe(document);
  });

  it('needs a place', () => {
    expect(() => withBlock(document, 'two', '')).toThrow('There is no place for the picture "two".');
  });
});
