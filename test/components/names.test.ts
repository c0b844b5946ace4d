import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { visibleText } from '../../components/text/clean.js';
import { shellWord } from '../../components/text/shell.js';
import { GIB } from '../../src/scheduler/units.js';
import { readyModel, sampleSnapshot } from '../support/snapshots.js';
import { createScreenWorld } from '../support/screen-world.js';

const UTF8 = { encoding: 'utf8', env: { ...process.env, LC_ALL: 'C.UTF-8' } } as const;

describe('names that differ in nothing that is seen', () => {
  const NAMES = ['a b', 'a\tb', 'a\u00a0b', 'ab', 'a\u200bb', 'a\u202eb', 'a\u001b[31mb'];
  const SHOWN = ['a b', 'a\\tb', 'a\\u00a0b', 'ab', 'a\\u200bb', 'a\\u202eb', 'a\\e[31mb'];
  const models = NAMES.map((name) => readyModel(name, GIB));

  it('look different in the list, in titles, in questions and where they are completed', () => {
    const world = createScreenWorld(sampleSnapshot({ models }));
    for (const [index, shown] of SHOWN.entries()) {
      expect(world.lines().filter((line) => line.includes(` ${shown} `)).length).toBeGreaterThan(0);
      world.press('return');
      expect(world.text()).toContain(`${shown} READY`);
      world.press('U');
      expect(world.text()).toContain(`Kill ${shown} at once?`);
      world.press('escape', 'escape', ':', 'p', 'i', 'n', 'space', 'tab');
      expect(world.lines().at(-1)).toContain(`  ${shown}`);
      world.press('escape', 'w');
      expect(world.text()).toContain(`Why: ${shown}`);
      world.press('escape', 'l', ...(index < SHOWN.length - 1 ? ['j'] : []));
    }
  });

  it.skipIf(process.platform === 'win32')('are written for a shell so that it means the same', () => {
    const words = NAMES.map(shellWord);
    const echoed = execFileSync('bash', ['-c', `printf '%s\\n' ${words.join(' ')}`], UTF8);
    expect(echoed.split('\n').slice(0, -1)).toEqual(NAMES);
    for (const word of words) expect(word).toMatch(/^[ -~]+$/u);
    expect(execFileSync('bash', ['-c', `printf %s ${shellWord("it's\\\t")}`], UTF8)).toBe("it's\\\t");
  });
});

describe('text that hides nothing', () => {
  it('has no character that a terminal would obey or not show, and leaves all others alone', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const shown = visibleText(text);
        expect(shown).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
        expect(shown.replace(/\\(?:[tnre]|x..|u....|U........)/gu, '')).toBe(
          text
            .replace(/\\(?:[tnre]|x..|u....|U........)/gu, '')
            .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Variation_Selector}]|(?! )\p{Zs}/gu, ''),
        );
      }),
    );
    expect(visibleText('模型-7b-ü')).toBe('模型-7b-ü');
  });
});
