import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cleanText } from '../../components/text/clean.js';
import { demandFigures, deviceFigures } from '../../components/text/device-figures.js';
import { durationText, gibText, idleText, sizeText, tokensText, uptimeText } from '../../components/text/format.js';
import { sharesOf, visibleSharesOf } from '../../components/text/shares.js';
import { cutMiddle, cutText, padText, textWidth, wrapText } from '../../components/text/width.js';
import { GIB, MIB } from '../../src/scheduler/units.js';
import { sampleDevice } from '../support/snapshots.js';

describe('text from outside', () => {
  it('loses whole terminal sequences, not only their first byte', () => {
    expect(cleanText('a\u001b[31mred\u001b[0m')).toBe('ared');
    expect(cleanText('\u001b]0;new title\u0007x')).toBe('x');
    expect(cleanText('\u001b]8;;http://evil\u001b\\link\u001b]8;;\u001b\\')).toBe('link');
    expect(cleanText('\u009b2Jx')).toBe('x');
    expect(cleanText('\u001bPq#0\u001b\\y')).toBe('y');
  });

  it('stays on its line and in its direction', () => {
    expect(cleanText('one\r\ntwo\tthree')).toBe('one two three');
    expect(cleanText('abc\u202egpj.exe\u200b\u2066')).toBe('abcgpj.exe');
  });

  it('never keeps anything that a terminal obeys', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(cleanText(text)).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      }),
    );
  });

  it('keeps letters of all languages', () => {
    expect(cleanText('模型-7b-ü')).toBe('模型-7b-ü');
  });
});

describe('cutting and filling', () => {
  it('counts cells, not characters', () => {
    expect(textWidth('模型')).toBe(4);
    expect(padText('模型', 6, 'left', '..')).toBe('模型  ');
    expect(cutText('模型模型', 6, '..')).toBe('模型..');
    expect(padText('12', 4, 'right', '..')).toBe('  12');
  });

  it('always fills exactly the width it is given', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }).map(cleanText), fc.integer({ min: 1, max: 40 }), (text, width) => {
        expect(textWidth(padText(text, width, 'left', '..'))).toBe(width);
      }),
    );
  });

  it('wraps at blanks without losing a word', () => {
    expect(wrapText('one two three', 7)).toEqual(['one two', 'three']);
    expect(wrapText('unbreakable', 4)).toEqual(['unbr', 'eaka', 'ble']);
    expect(wrapText('  set apart', 6)).toEqual(['  set', 'apart']);
  });

  it('cuts names in the middle, since variants of a model differ at their ends', () => {
    const names = ['org/some-long-name-70b-q4_k_m', 'org/some-long-name-70b-q8_0'];
    expect(names.map((name) => cutMiddle(name, 20, '..'))).toEqual(['org/some..70b-q4_k_m', 'org/some..e-70b-q8_0']);
    expect(new Set(names.map((name) => cutMiddle(name, 14, '..'))).size).toBe(2);
    expect(cutMiddle('short', 5, '..')).toBe('short');
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }).map(cleanText), fc.integer({ min: 1, max: 40 }), (text, width) => {
        expect(textWidth(cutMiddle(text, width, '..'))).toBeLessThanOrEqual(width);
      }),
    );
  });
});

describe('numbers for people', () => {
  it('tells memory in GiB with one decimal, and never something as nothing', () => {
    expect(gibText(18.06 * GIB)).toBe('18.1');
    expect(gibText(1)).toBe('<0.1');
    expect(gibText(0)).toBe('0.0');
    expect(sizeText(312 * MIB)).toBe('312 MiB');
    expect(sizeText(1.5 * GIB)).toBe('1.5 GiB');
  });

  it('tells durations coarsely', () => {
    expect(durationText(12_900)).toBe('12s');
    expect(durationText(5 * 60_000)).toBe('5m');
    expect(durationText(3 * 3_600_000 + 12 * 60_000)).toBe('3h12');
    expect(durationText(52 * 3_600_000)).toBe('2d4h');
    expect(durationText(-5)).toBe('0s');
    expect(uptimeText(59_000)).toBe('<1m');
  });

  it('lets idle times stand still for ten seconds', () => {
    expect(idleText(9_999)).toBe('<10s');
    expect(idleText(10_000)).toBe('10s');
    expect(idleText(19_999)).toBe('10s');
  });

  it('tells context lengths in thousands of 1024', () => {
    expect(tokensText(32_768)).toBe('32k');
    expect(tokensText(512)).toBe('512');
    expect(tokensText(null)).toBe('-');
  });
});

describe('shares', () => {
  const parts = fc.array(fc.nat(1_000_000), { minLength: 1, maxLength: 12 });

  it('add up to the whole and are less than one away from the exact value', () => {
    fc.assert(
      fc.property(parts, fc.nat(2_000), (values, whole) => {
        const sum = values.reduce((total, value) => total + value, 0);
        fc.pre(sum > 0);
        const shares = sharesOf(values, whole);
        expect(shares.reduce((total, share) => total + share, 0)).toBe(whole);
        for (const [index, value] of values.entries()) {
          expect(Math.abs((shares[index] ?? NaN) - (value / sum) * whole)).toBeLessThan(1);
        }
      }),
    );
  });

  it('show every part that is not zero, as far as there are cells', () => {
    fc.assert(
      fc.property(parts, fc.integer({ min: 12, max: 30 }), (values, cells) => {
        fc.pre(values.some((value) => value > 0));
        const shares = visibleSharesOf(values, cells);
        expect(shares.reduce((total, share) => total + share, 0)).toBe(cells);
        for (const [index, value] of values.entries()) expect((shares[index] ?? 0) > 0).toBe(value > 0);
      }),
    );
  });
});

describe('the ledger of a device as text', () => {
  const ledger = fc
    .record({ held: fc.nat(90 * GIB), reserved: fc.nat(30 * GIB), external: fc.nat(30 * GIB), free: fc.nat(90 * GIB) })
    .filter((parts) => parts.held + parts.reserved + parts.external + parts.free > 0);

  it('adds up to the total in every case, no part is two steps off, and what is held reads as the model that holds it', () => {
    fc.assert(
      fc.property(ledger, ({ held, reserved, external, free }) => {
        const figures = deviceFigures(
          sampleDevice('CUDA0', {
            totalBytes: held + reserved + external + free,
            heldBytes: held,
            reservedBytes: reserved,
            externalBytes: external,
            freeBytes: free,
          }),
        );
        const steps = (text: string): number => Math.round(Number(text) * (figures.unit === 'GiB' ? 10 : 1));
        const shown = [figures.held, figures.reserved, figures.external, figures.free].map(steps);
        expect(shown.reduce((sum, value) => sum + value, 0)).toBe(steps(figures.total));
        const step = figures.unit === 'GiB' ? GIB / 10 : MIB;
        for (const [index, bytes] of [held, reserved, external, free].entries()) {
          // Rounding the total, and what is held, moves the other parts by more than rounding them alone.
          expect(Math.abs((shown[index] ?? NaN) - bytes / step)).toBeLessThan(2);
        }
        // A model that is alone on the device is told in the same words.
        if (reserved + external + free > 0) expect(shown[0]).toBe(Math.round(held / step));
      }),
    );
  });

  it('is in MiB for a small device, so that small models are seen', () => {
    const device = sampleDevice('GPU0', { totalBytes: 2 * GIB, heldBytes: 300 * MIB });
    expect(deviceFigures(device)).toEqual({
      held: '300',
      reserved: '0',
      external: '0',
      free: '1748',
      total: '2048',
      unit: 'MiB',
    });
  });

  it('says of what is needed, available and short what adds up too, and never nothing for something short', () => {
    const bytes = fc.nat(40 * GIB);
    fc.assert(
      fc.property(bytes, bytes, fc.constantFrom(2 * GIB, 24 * GIB), (needBytes, availableBytes, totalBytes) => {
        const deficitBytes = Math.max(0, needBytes - availableBytes);
        const device = { ...sampleDevice('CUDA0', { totalBytes }), needBytes, availableBytes, deficitBytes };
        const { need, available, short } = demandFigures(device);
        if (deficitBytes === 0) expect(Number(short)).toBe(0);
        else {
          expect(Number(short)).toBeGreaterThan(0);
          expect(Number(need) - Number(available)).toBeCloseTo(Number(short), 5);
        }
      }),
    );
  });

  it('shows a ledger that does not add up as it came', () => {
    const device = sampleDevice('CUDA0', { heldBytes: 5 * GIB, freeBytes: 5 * GIB });
    expect(deviceFigures(device)).toMatchObject({ held: '5.0', free: '5.0', total: '24.0' });
  });
});
