import { z } from 'zod';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSmall, type Completion, type RunningChild } from './embedded-child.js';

let child: RunningChild;
beforeAll(async () => {
  child = await startSmall({ 'ctx-size': '2048' });
});
afterAll(() => child[Symbol.asyncDispose]());

const short = z.string().min(1).max(6);
/** Bounded, so that a model that talks nonsense comes to an end. */
const SCHEMAS: readonly (readonly [string, z.ZodType])[] = [
  ['objects whose properties are all required', z.strictObject({ name: short, count: z.int().min(1).max(9) })],
  [
    'objects with optional properties',
    z.strictObject({ a: z.literal(1).optional(), b: z.literal(2), c: z.literal(3).optional() }),
  ],
  ['objects with optional properties only', z.strictObject({ a: z.literal(1).optional(), b: z.literal(2).optional() })],
  ['objects within objects, and empty ones', z.strictObject({ inner: z.strictObject({ deep: z.strictObject({}) }) })],
  [
    'lists of bounded length',
    z
      .array(z.enum(['red', 'green "blue"', 'Größe']))
      .min(2)
      .max(4),
  ],
  ['tuples', z.tuple([z.boolean(), z.null(), short])],
  ['alternatives', z.strictObject({ value: z.union([z.literal('x'), z.null(), z.literal(7)]) })],
  ['dates and identifiers', z.strictObject({ day: z.iso.date(), id: z.literal('b') })],
  ['small ranges of whole numbers', z.array(z.int().min(-3).max(3)).min(1).max(3)],
];

describe('an answer in a given form', () => {
  it.each(SCHEMAS)('satisfies a schema: %s', async (_, schema) => {
    const json = z.toJSONSchema(schema);
    const format = { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema: json } };
    for (const seed of [1, 2, 3, 4]) {
      const request = { prompt: 'the answer', response_format: format, seed, temperature: 1.5, max_tokens: 400 };
      const { choices } = await child.ask<Completion>('/v1/completions', request);
      expect(choices[0]?.finish_reason).toBe('stop');
      expect(schema.safeParse(JSON.parse(choices[0]?.text ?? ''))).toMatchObject({ success: true });
    }
  });

  it.each([
    String.raw`^\d{4}-\d{2}$`,
    String.raw`^[A-Z][a-z]{1,5}( [^a-z"\\]{2})?$`,
    '^(?:yes|no|"quoted"|back\\\\slash)!$',
    '^https?://[\\w.-]{3,9}/$',
    '^.{1,3}$|^x+?y{2}$',
    '^[\\s\\S]{2}é$',
    '^$',
  ])('satisfies a pattern: %s', async (pattern) => {
    const schema = { type: 'object', properties: { text: { type: 'string', pattern } }, required: ['text'] };
    for (const seed of [1, 2, 3]) {
      const request = { prompt: 'a', json_schema: schema, seed, temperature: 1.5, max_tokens: 300 };
      const { choices } = await child.ask<Completion>('/v1/completions', request);
      const { text } = JSON.parse(choices[0]?.text ?? '') as { text: string };
      expect(text).toMatch(new RegExp(pattern));
    }
  });

  it('follows references, also to itself', async () => {
    const schema = {
      $defs: {
        tree: { type: 'object', properties: { kids: { type: 'array', items: { $ref: '#/$defs/tree' }, maxItems: 1 } } },
      },
      $ref: '#/$defs/tree',
    };
    const request = { prompt: 'a tree', json_schema: schema, max_tokens: 60, temperature: 0 };
    const { choices } = await child.ask<Completion>('/v1/completions', request);
    expect(choices[0]?.text).toMatch(/^\{\s*(?:"kids":\s*\[|\}$)/u);
  });

  it('is an object with json_object, for the OpenAI client too', async () => {
    const client = new OpenAI({ baseURL: `${child.url}/v1`, apiKey: 'none', maxRetries: 0 });
    const { choices } = await client.chat.completions.create({
      model: 'any',
      messages: [{ role: 'user', content: 'Answer in JSON.' }],
      response_format: { type: 'json_object' },
      max_completion_tokens: 40,
    });
    expect(choices[0]?.message.content).toMatch(/^\{/u);
  });

  it.each(['/v1/completions', '/completion'])('follows a grammar (GBNF) at %s', async (path) => {
    const request = { prompt: 'the', grammar: 'root ::= "yes" | "no" digit+\ndigit ::= [0-9]', max_tokens: 8 };
    const answer = await child.ask<Completion & { readonly content?: string }>(path, request);
    expect(answer.content ?? answer.choices[0]?.text).toMatch(/^(?:yes|no\d+)$/u);
  });

  it('is followed by all choices of an answer', async () => {
    const request = { prompt: 'the', grammar: 'root ::= [abc] [abc] [abc]', n: 3, max_tokens: 8, temperature: 2 };
    const { choices } = await child.ask<Completion>('/v1/completions', request);
    for (const { text } of choices) expect(text).toMatch(/^[abc]{3}$/u);
  });

  it.each([
    [
      'looking ahead',
      { response_format: schemaFormat({ type: 'string', pattern: '^(?=a)' }) },
      /"pattern" at the top/u,
    ],
    [
      'a pattern and a length that do not go together',
      { response_format: schemaFormat({ type: 'string', pattern: '^a*$', maxLength: 3 }) },
      /"pattern together with a length"/u,
    ],
    ['what is no schema', { response_format: schemaFormat(7) }, /is not an object/u],
    ['no schema', { response_format: { type: 'json_schema' } }, /json_schema.schema/u],
    ['another form', { response_format: { type: 'xml' } }, /must be text, json_object or json_schema/u],
    ['a broken grammar', { grammar: 'root ::= (' }, /'grammar' cannot be read/u],
    ['a grammar without root', { grammar: 'a ::= "b"' }, /'grammar' cannot be read/u],
    [
      'a grammar that repeats at most less than at least',
      { grammar: 'root ::= "a"{5,2}' },
      /'grammar' cannot be read/u,
    ],
    ['a grammar that repeats without end', { grammar: 'root ::= [a]{1000000000}' }, /'grammar' cannot be read/u],
    [
      'a list of at most less than at least',
      { json_schema: { type: 'array', minItems: 5, maxItems: 2 } },
      /"maxItems".*"minItems"/u,
    ],
    [
      'a schema that refers to itself',
      { json_schema: { $ref: '#' } },
      /'json_schema': "\$ref" .* leads back to itself/u,
    ],
    [
      'schemas that refer to each other',
      {
        json_schema: { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { anyOf: [{ $ref: '#/$defs/a' }] } } },
      },
      /"\$ref" at '.+' leads back to itself, with no value in between/u,
    ],
    [
      'a schema whose grammar cannot be read',
      { response_format: schemaFormat({ type: 'string', pattern: '^(|a)+$' }) },
      /'response_format.json_schema.schema' cannot be read; it is too complex/u,
    ],
    ['a grammar nested without end', { grammar: `root ::= ${'('.repeat(50_000)}` }, /'grammar' nests/u],
    ['two forms at once', { grammar: 'root ::= "a"', json_schema: {} }, /Only one of/u],
  ])('is refused in one sentence for %s', async (_, fields, message) => {
    const response = await child.post('/v1/completions', { prompt: 'a', ...fields });
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: { message: string; type: string } };
    expect(error).toMatchObject({ message: expect.stringMatching(message) as string, type: 'invalid_request_error' });
    expect(error.message).not.toContain('\n');
    expect(await child.ask<object>('/tokenize', { content: 'still there' })).toHaveProperty('tokens');
  });
});

function schemaFormat(schema: unknown): object {
  return { type: 'json_schema', json_schema: { name: 'answer', schema } };
}
