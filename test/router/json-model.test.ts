import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { modelInJson, type JsonModel } from '../../src/router/json-model.js';

/** What is to be found, by the parser that decides. */
function byParsing(text: string): JsonModel {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { kind: 'invalid' };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { kind: 'other' };
  const model: unknown = Object.hasOwn(value, 'model') ? (value as { model: unknown }).model : null;
  if (model === '' || model === null) return { kind: 'none' };
  return typeof model === 'string' ? { kind: 'model', model } : { kind: 'not-a-name' };
}

const find = (text: string): JsonModel => modelInJson(Buffer.from(text));

describe('the model in a JSON body', () => {
  it.each([
    ['{"model":"a"}', { kind: 'model', model: 'a' }],
    ['{"model":"a","model":"b"}', { kind: 'model', model: 'b' }],
    ['{"model":"a","model":null}', { kind: 'none' }],
    ['{"x":{"model":"inner"},"y":[{"model":"inner"}]}', { kind: 'none' }],
    ['{"x":"\\"model\\":\\"no\\"","model":"yes"}', { kind: 'model', model: 'yes' }],
    ['{"\\u006dodel":"\\u20ac\\"\\\\ \\ud83d\\ude00"}', { kind: 'model', model: '€"\\ 😀' }],
    ['{"mode":"a","models":"b","Model":"c"}', { kind: 'none' }],
    ['{"model":{"deep":[1,2]}}', { kind: 'not-a-name' }],
    ['{"model":7}', { kind: 'not-a-name' }],
    ['[{"model":"a"}]', { kind: 'other' }],
    ['"model"', { kind: 'other' }],
    ['{"model":"a"', { kind: 'invalid' }],
    ['{"model":"a"}}', { kind: 'invalid' }],
    ['{"model":"a",}', { kind: 'invalid' }],
    ["{'model':'a'}", { kind: 'invalid' }],
    ['{"model" "a"}', { kind: 'invalid' }],
    ['{"x":01,"model":"a"}', { kind: 'invalid' }],
    ['{"x":"\\x","model":"a"}', { kind: 'invalid' }],
    ['', { kind: 'invalid' }],
    ['\ufeff{"model":"a"}', { kind: 'model', model: 'a' }],
  ] satisfies [string, JsonModel][])('of %s', (text, expected) => {
    expect(find(text)).toEqual(expected);
  });

  it('is the one that JSON.parse finds, in any value, however it is written', () => {
    const key = fc.oneof({ weight: 2, arbitrary: fc.constant('model') }, fc.string({ unit: 'binary' }));
    const { object } = fc.letrec((tie) => ({
      value: fc.oneof(
        fc.json().map((text) => JSON.parse(text) as unknown),
        fc.string({ unit: 'binary' }),
        tie('object'),
      ),
      object: fc.dictionary(key, tie('value'), { maxKeys: 5 }),
    }));
    const pairs = fc.array(fc.tuple(key, object), { maxLength: 4 });
    // Written by hand, so that keys come twice; spread over lines or not.
    const text = fc.tuple(pairs, fc.constantFrom('', ' ', '\n\t')).map(([entries, space]) => {
      const write = JSON.stringify;
      return `${space}{${entries.map(([k, v]) => `${write(k)}${space}:${space}${write(v)}`).join(`${space},`)}${space}}`;
    });
    fc.assert(
      fc.property(text, (written) => {
        expect(find(written)).toEqual(byParsing(written));
      }),
      { numRuns: 500 },
    );
  });

  it('is found in no text that JSON.parse refuses, whatever was changed in it', () => {
    const damaged = fc
      .tuple(
        fc.json(),
        fc.nat(),
        fc.constantFrom('', '"', '\\', '{', '}', ',', ':', '1', 'x', ' ', '\\u12'),
        fc.boolean(),
      )
      .map(([json, at, piece, drop]) => {
        const text = `{"model":"a","rest":${json}}`;
        const where = at % (text.length + 1);
        return text.slice(0, where) + piece + text.slice(where + (drop ? 1 : 0));
      });
    fc.assert(
      fc.property(damaged, (text) => {
        expect(find(text)).toEqual(byParsing(text));
      }),
      { numRuns: 2000 },
    );
  });

  it('is found behind a long string with anything in it', () => {
    const long = fc.array(fc.constantFrom('a'.repeat(500), '\\"', '\\\\', '"model":"no"', '€', '\\u0022'), {
      maxLength: 20,
    });
    fc.assert(
      fc.property(long, (parts) => {
        const inside = parts.join('').replaceAll(/(?<!\\)"/gu, '\\"');
        const text = `{"image":"${inside}","model":"yes"}`;
        expect(find(text)).toEqual(byParsing(text));
      }),
    );
  });

  it.each([
    ['lines', '"', `${'y'.repeat(999)}\\n`, '"'],
    ['strings', '[""', `,"${'y'.repeat(999)}"`, ']'],
    ['numbers', '[0', `,${'1'.repeat(9)}`, ']'],
    ['spaces', '', ' '.repeat(1000), '0'],
  ])('is found in a time that grows no faster than the text, in many %s', (_, opens, part, ends) => {
    const rest = opens + part.repeat((16 * 1024 * 1024) / part.length) + ends;
    const began = performance.now();
    expect(find(`{"rest":${rest},"model":"a"}`)).toEqual({ kind: 'model', model: 'a' });
    // Each part searched to the end would take minutes.
    expect(performance.now() - began).toBeLessThan(5000);
  });

  it('is found however deep the rest nests', () => {
    const deep = 200_000;
    const text = `{"x":${'['.repeat(deep)}${']'.repeat(deep)},"model":"a"}`;
    expect(find(text)).toEqual({ kind: 'model', model: 'a' });
  });
});
