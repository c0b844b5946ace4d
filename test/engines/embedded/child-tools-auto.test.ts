import fc from 'fast-check';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { APART, CONTROLLED, TAGGED, WORDED } from './call-templates.js';
import { startSmall, type RunningChild } from './embedded-child.js';

let tagged: RunningChild;
let worded: RunningChild;
let controlled: RunningChild;
let apart: RunningChild;
beforeAll(async () => {
  [tagged, worded, controlled, apart] = await Promise.all([
    startSmall({ 'ctx-size': '4096', parallel: '2', 'chat-template': TAGGED }),
    startSmall({ 'ctx-size': '4096', parallel: '2', 'chat-template': WORDED }),
    startSmall({ 'ctx-size': '4096', 'chat-template': CONTROLLED }),
    startSmall({ 'ctx-size': '4096', 'chat-template': APART }),
  ]);
});
afterAll(() => Promise.all([tagged, worded, controlled, apart].map((child) => child[Symbol.asyncDispose]())));

interface Answer {
  readonly choices: readonly {
    readonly finish_reason: string;
    readonly message: OpenAI.ChatCompletionMessage;
  }[];
  readonly usage: { readonly completion_tokens: number };
}

const parameters = z.toJSONSchema(z.strictObject({ place: z.enum(['here', 'there']) }));
const look = { type: 'function', function: { name: 'look', parameters } };
const ASKED = {
  messages: [{ role: 'user', content: 'Look around.' }],
  tools: [look],
  parallel_tool_calls: false,
  max_tokens: 200,
  seed: 3,
};
const CALLED = [
  { type: 'function', function: { name: 'look', arguments: expect.stringMatching(/"(?:here|there)"/u) as string } },
];

describe('a model that decides by itself', () => {
  it('turns from words to a call, and is held to it from there on', async () => {
    // The word with which calls begin is made likely; which others come before it is up to the weights.
    const request = { ...ASKED, temperature: 1.5, logit_bias: [[' call', 7]] };
    for (const seed of [1, 2, 3]) {
      const { choices } = await worded.ask<Answer>('/v1/chat/completions', { ...request, seed });
      const [choice] = choices;
      expect(choice?.finish_reason).toBe('tool_calls');
      expect(choice?.message.tool_calls).toMatchObject(CALLED);
      expect(choice?.message.content ?? '').not.toContain('call');
    }
  });

  it('does so in each choice and each request for itself, while others go on', async () => {
    const request = { ...ASKED, temperature: 1.5, logit_bias: [[' call', 5]], n: 3 };
    const answers = await Promise.all(
      [1, 2, 3].map((seed) => worded.ask<Answer>('/v1/chat/completions', { ...request, seed })),
    );
    for (const { choices } of answers) {
      expect(choices.map(({ message }) => message.tool_calls)).toMatchObject([CALLED, CALLED, CALLED]);
    }
  });

  it('streams the same words and the same call', async () => {
    const request = { ...ASKED, temperature: 0, logit_bias: [[' call', 4]] };
    const whole = await worded.ask<Answer>('/v1/chat/completions', request);
    const client = new OpenAI({ baseURL: `${worded.url}/v1`, apiKey: 'none', maxRetries: 0 });
    const streamed = await client.chat.completions
      .stream({ ...request, model: 'any' } as unknown as OpenAI.ChatCompletionCreateParamsStreaming)
      .finalChatCompletion();
    const [a, b] = [whole.choices[0], streamed.choices[0]];
    expect(a?.message.content).toMatch(/\w/u);
    expect(b?.message.content).toBe(a?.message.content);
    expect(b?.message.tool_calls).toMatchObject(CALLED);
    expect(b?.finish_reason).toBe(a?.finish_reason);
  });

  it('is understood by a control token alone', async () => {
    const { tokens } = await controlled.ask<{ tokens: number[] }>('/tokenize', { content: '<|im_start|>' });
    const request = { ...ASKED, temperature: 0, logit_bias: { [String(tokens.at(-1))]: 60 } };
    const { choices } = await controlled.ask<Answer>('/v1/chat/completions', request);
    expect(choices[0]).toMatchObject({ finish_reason: 'tool_calls', message: { tool_calls: CALLED } });
    expect(choices[0]?.message.content ?? '').not.toContain('im_start');
  });

  it('answers in a given form, or calls', async () => {
    const response_format = { type: 'json_schema', json_schema: { name: 'a', schema: { const: 'no' } } };
    const request = { ...ASKED, response_format, temperature: 0 };
    const either = async (bias: [string, number][]): Promise<Answer['choices'][number] | undefined> =>
      (await tagged.ask<Answer>('/v1/chat/completions', { ...request, logit_bias: bias })).choices[0];
    expect(await either([['<', 50]])).toMatchObject({ finish_reason: 'tool_calls', message: { tool_calls: CALLED } });
    expect(await either([['<', -50]])).toMatchObject({ finish_reason: 'stop', message: { content: '"no"' } });
  });

  it('ends with its stop strings where it only talks, and not within a call', async () => {
    const request = { ...ASKED, temperature: 0, logit_bias: [[' call', 4]], stop: ['here', '"place"'] };
    const { choices } = await worded.ask<Answer>('/v1/chat/completions', request);
    expect(choices[0]).toMatchObject({ finish_reason: 'tool_calls', message: { tool_calls: CALLED } });
  });

  it('counts the tokens of both parts, and stops at the limit in either', async () => {
    const request = { ...ASKED, temperature: 0, logit_bias: [[' call', 4]] };
    const { usage } = await worded.ask<Answer>('/v1/chat/completions', request);
    for (const most of [1, usage.completion_tokens - 3]) {
      const cut = await worded.ask<Answer>('/v1/chat/completions', { ...request, max_tokens: most });
      expect(cut.choices[0]?.finish_reason).toBe('length');
      expect(cut.usage.completion_tokens).toBe(most);
    }
  });
});

it('a template that writes each argument apart is given all of them in one place, which the log says', async () => {
  const { choices } = await apart.ask<Answer>('/v1/chat/completions', { ...ASKED, tool_choice: 'required' });
  expect(choices[0]).toMatchObject({
    finish_reason: 'tool_calls',
    message: { tool_calls: [{ function: { name: 'look' } }] },
  });
  expect(apart.lines.filter((line) => line.includes('writes each argument'))).toHaveLength(1);
});

/** Schemas that end, so that random weights come to an end too. */
const { type } = fc.letrec<{ type: z.ZodType }>((tie) => {
  const leaf = fc.oneof(
    fc.constant(z.boolean()),
    fc.constant(z.null()),
    fc.integer({ min: 1, max: 6 }).map((length) => z.string().max(length)),
    fc.uniqueArray(fc.string({ maxLength: 5 }), { minLength: 1, maxLength: 3 }).map((texts) => z.enum(texts)),
    fc.tuple(fc.integer({ min: -5000, max: 5000 }), fc.nat(70_000)).map(([from, size]) =>
      z
        .int()
        .min(from)
        .max(from + size),
    ),
    fc.tuple(fc.integer({ min: -500, max: 500 }), fc.nat(700)).map(([from, size]) =>
      z
        .number()
        .min(from)
        .lt(from + size + 1),
    ),
    fc.constantFrom(z.iso.date(), z.uuid(), z.ipv4()),
  );
  return {
    type: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf,
      tie('type').map((item) => z.array(item).max(2)),
      tie('type').map((item) => item.nullable()),
      object(tie('type')),
    ),
  };
});

function object(part: fc.Arbitrary<z.ZodType>): fc.Arbitrary<z.ZodType> {
  const property = fc.tuple(part, fc.boolean()).map(([value, optional]) => (optional ? value.optional() : value));
  return fc
    .dictionary(fc.string({ maxLength: 6 }), property, { maxKeys: 3, noNullPrototype: true })
    .map((shape) => z.strictObject(shape));
}

it('arguments parse and satisfy the schema, whatever it is', async () => {
  await fc.assert(
    fc.asyncProperty(object(type), fc.nat(1000), async (schema, seed) => {
      const parameters = z.toJSONSchema(schema);
      // The prompt carries the schema, a token for a letter or two: what leaves no room for an answer proves nothing.
      fc.pre(JSON.stringify(parameters).length < 1000);
      const tool = { type: 'function', function: { name: 'f', parameters } };
      const request = { ...ASKED, tools: [tool], tool_choice: 'required', seed };
      const { choices } = await tagged.ask<Answer>('/v1/chat/completions', {
        ...request,
        temperature: 1.5,
        max_tokens: 1500,
      });
      expect(choices[0]?.finish_reason).toBe('tool_calls');
      const [call] = choices[0]?.message.tool_calls ?? [];
      const text = call?.type === 'function' ? call.function.arguments : '';
      expect(schema.safeParse(JSON.parse(text))).toMatchObject({ success: true });
    }),
    { numRuns: 20, endOnFailure: true },
  );
}, 60_000);
