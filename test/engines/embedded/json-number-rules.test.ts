import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { integerRule, numberRule } from '../../../src/engines/embedded/grammar/json-number-rules.js';

const COMMON = { integer: '"-"? ( "0" | [1-9] [0-9]{0,15} )', number: '"-"? [0-9]+' };

/** What these rules use of GBNF is a regular expression, but for its spaces and quotes. */
function toPattern(rule: string): RegExp {
  const plain = (COMMON[rule as keyof typeof COMMON] as string | undefined) ?? rule;
  const source = plain
    .replaceAll(/"([^"]*)"/gu, (_, text: string) => text.replaceAll('.', String.raw`\.`))
    .replaceAll(' ', '');
  return new RegExp(`^(?:${source})$`, 'u');
}

const bound = fc.integer({ min: -12_000, max: 12_000 });
const bounds = fc
  .record({ minimum: bound, maximum: bound, exclusiveMinimum: bound, exclusiveMaximum: bound }, { requiredKeys: [] })
  .filter((node) => Object.keys(node).length > 0 && lowest(node) <= highest(node));

interface Bounds {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
}

const lowest = ({ minimum = -Infinity, exclusiveMinimum: above = -Infinity }: Bounds): number =>
  Math.max(minimum, above + 1);
const highest = ({ maximum = Infinity, exclusiveMaximum: below = Infinity }: Bounds): number =>
  Math.min(maximum, below - 1);
const allows = (node: Bounds, value: number): boolean =>
  value >= (node.minimum ?? -Infinity) &&
  value <= (node.maximum ?? Infinity) &&
  value > (node.exclusiveMinimum ?? -Infinity) &&
  value < (node.exclusiveMaximum ?? Infinity);

describe('numbers within bounds', () => {
  it('are, as whole numbers, exactly those of the schema', () => {
    fc.assert(
      fc.property(bounds, fc.integer({ min: -13_000, max: 13_000 }), (node, value) => {
        const pattern = toPattern(integerRule(node, []));
        for (const each of [value, lowest(node), highest(node), lowest(node) - 1, highest(node) + 1]) {
          if (Number.isFinite(each)) expect([each, pattern.test(String(each))]).toEqual([each, allows(node, each)]);
        }
      }),
    );
  });

  it('are never others, with a fraction either', () => {
    fc.assert(
      fc.property(bounds, bound, fc.integer({ min: 1, max: 999_999 }), (node, whole, part) => {
        const text = `${whole}.${String(part).replace(/0+$/u, '')}`;
        const found = toPattern(numberRule(node, [])).test(text);
        expect([text, found]).toEqual([text, allows(node, Number(text))]);
      }),
    );
  });

  it('reach as far as numbers are told apart', () => {
    const safe = toPattern(integerRule({ minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }, []));
    for (const text of ['0', '-1', '9007199254740991', '-9007199254740991', '1234567890']) expect(text).toMatch(safe);
    for (const text of ['9007199254740992', '-0', '007', '1.5']) expect(text).not.toMatch(safe);
  });

  it('fit into the format of the schema', () => {
    const small = toPattern(integerRule({ format: 'int32' }, []));
    for (const text of ['2147483647', '-2147483648', '0']) expect(text).toMatch(small);
    for (const text of ['2147483648', '-2147483649']) expect(text).not.toMatch(small);
    expect(numberRule({ format: 'double' }, [])).toBe('number');
    expect(() => numberRule({ format: 'colour' }, [])).toThrow(/"format" at the top/u);
  });

  it('are refused where there are none', () => {
    expect(() => integerRule({ minimum: 3, maximum: 2 }, ['a'])).toThrow(/"maximum" at 'a' is below/u);
    expect(() => integerRule({ exclusiveMinimum: 2, exclusiveMaximum: 3 }, [])).toThrow(/leave no whole number/u);
    expect(() => numberRule({ minimum: 0.2, maximum: 0.8 }, [])).toThrow(/without a whole number between/u);
  });
});
