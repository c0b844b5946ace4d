import { describe, expect, it } from 'vitest';
import { enforceablePart } from '../../../src/engines/embedded/grammar/enforceable-part.js';

describe('what of a schema a grammar can say', () => {
  it('is all of it where it says nothing else', () => {
    const schema = { type: 'object', properties: { a: { type: 'string', maxLength: 5 } } };
    expect(enforceablePart(schema)).toBe(schema);
  });

  it.each([
    ['keywords that it does not know', { type: 'array', uniqueItems: true }, { type: 'array' }],
    ['formats', { type: 'string', format: 'hostname' }, { type: 'string' }],
    ['lengths beside a format', { type: 'string', format: 'date', maxLength: 10 }, { type: 'string', format: 'date' }],
    ['lengths beyond what a grammar counts', { type: 'string', maxLength: 100_000 }, { type: 'string' }],
    ['patterns', { type: 'string', pattern: '(?=x)', minLength: 1 }, { type: 'string', minLength: 1 }],
  ])('leaves out %s, wherever they stand', (_, part, left) => {
    expect(enforceablePart(part)).toEqual(left);
    const around = (inner: object): Record<string, unknown> => ({
      type: 'object',
      properties: { a: { type: 'array', items: { anyOf: [inner, { type: 'null' }] } }, b: { $ref: '#/$defs/b' } },
      $defs: { b: { type: 'object', properties: { deep: inner } } },
    });
    const given = around(part);
    const before = structuredClone(given);
    expect(enforceablePart(given)).toEqual(around(left));
    expect(given, 'what was given stays').toEqual(before);
  });

  it('is nothing of a schema that is wrong', () => {
    expect(() => enforceablePart({ type: 'string', minLength: 2, maxLength: 1 })).toThrow(/"maxLength"/u);
    expect(() => enforceablePart({ $ref: '#/nowhere' })).toThrow(/"\$ref"/u);
  });

  it('is nothing of one that says too much of that kind', () => {
    const properties = Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`p${n}`, { uniqueItems: true }]));
    expect(() => enforceablePart({ type: 'object', properties })).toThrow(/"uniqueItems"/u);
  });
});
