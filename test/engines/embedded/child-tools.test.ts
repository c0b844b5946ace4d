import OpenAI from 'openai';
import type { ChatCompletionCreateParamsNonStreaming, ChatCompletionTool } from 'openai/resources';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { TAGGED } from './call-templates.js';
import { startSmall, type RunningChild } from './embedded-child.js';

const WEATHER = z.strictObject({
  city: z.string().min(1).max(8),
  unit: z.enum(['C', 'F']),
  days: z.int().min(1).max(14).optional(),
  share: z.number().min(0).max(1),
  places: z.array(z.strictObject({ deep: z.strictObject({ flag: z.boolean() }) })).max(2),
});
const weather = functionTool('get_weather', 'Tells the weather', z.toJSONSchema(WEATHER));
const clock = functionTool('clock', 'Tells the time');
const ASKED: Omit<ChatCompletionCreateParamsNonStreaming, 'stream'> = {
  model: 'any',
  messages: [{ role: 'user', content: 'What is the weather like?' }],
  tools: [weather, clock],
  max_completion_tokens: 400,
  temperature: 1.2,
};

let child: RunningChild;
let tagged: RunningChild;
beforeAll(async () => {
  [child, tagged] = await Promise.all([
    startSmall({ 'ctx-size': '4096', parallel: '2' }),
    startSmall({ 'ctx-size': '4096', parallel: '2', 'chat-template': TAGGED }),
  ]);
});
afterAll(() => Promise.all([child[Symbol.asyncDispose](), tagged[Symbol.asyncDispose]()]));

const forms = [
  ['in words, where the template has no form for them', (): RunningChild => child],
  ['as the template writes them', (): RunningChild => tagged],
] as const;

describe.each(forms)('functions, called %s', (_, running) => {
  it('are called for certain with tool_choice required, with valid arguments', async () => {
    for (const seed of [1, 2, 3, 4]) {
      const request = { ...ASKED, seed, tool_choice: 'required' as const };
      const { choices } = await clientOf(running()).chat.completions.create(request);
      const [choice] = choices;
      expect(choice).toMatchObject({ finish_reason: 'tool_calls', message: { role: 'assistant', content: null } });
      const calls = callsOf(choice?.message);
      expect(calls.length).toBeGreaterThan(0);
      for (const { id, name, arguments: text } of calls) {
        expect(id).toMatch(/^call_\w+$/u);
        const schema = name === 'get_weather' ? WEATHER : z.strictObject({});
        expect(schema.safeParse(JSON.parse(text))).toMatchObject({ success: true });
      }
      expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length);
    }
  });

  it('have arguments as far as a grammar can say how, where the schema is not strict', async () => {
    const list = { type: 'array', items: { enum: ['a', 'b'] }, minItems: 2, maxItems: 2, uniqueItems: true };
    const even = { type: 'integer', minimum: 0, maximum: 9, multipleOf: 2 };
    const { tools } = withParameters({ properties: { list, even }, required: ['list'], minProperties: 1 });
    const request = { ...ASKED, tools, tool_choice: 'required' as const };
    const { choices } = await clientOf(running()).chat.completions.create(request);
    const [call] = callsOf(choices[0]?.message);
    const held = z.object({ list: z.array(z.enum(['a', 'b'])).length(2), even: z.int().min(0).max(9).optional() });
    expect(held.safeParse(JSON.parse(call?.arguments ?? ''))).toMatchObject({ success: true });
  });

  it('are the one that is named, once', async () => {
    const named = { type: 'function' as const, function: { name: 'clock' } };
    const { choices, usage } = await clientOf(running()).chat.completions.create({ ...ASKED, tool_choice: named });
    expect(callsOf(choices[0]?.message).map(({ name, arguments: text }) => [name, text])).toEqual([['clock', '{}']]);
    expect(usage?.completion_tokens).toBeGreaterThan(0);
  });

  it('stream to the same calls, piece by piece', async () => {
    const one = { tools: [weather], tool_choice: 'required' as const, parallel_tool_calls: false };
    const request = { ...ASKED, ...one, seed: 7, temperature: 0 };
    const client = clientOf(running());
    const whole = await client.chat.completions.create(request);
    const stream = client.chat.completions.stream({ ...request, stream_options: { include_usage: true } });
    let pieces = 0;
    for await (const { choices } of stream) pieces += choices[0]?.delta.tool_calls?.length ?? 0;
    const streamed = await stream.finalChatCompletion();
    expect(pieces).toBeGreaterThan(3);
    const bare = ({ choices }: OpenAI.ChatCompletion): unknown =>
      choices.map(({ finish_reason: finish, message }) => [
        finish,
        callsOf(message).map((call) => ({ ...call, id: '' })),
      ]);
    expect(bare(streamed)).toEqual(bare(whole));
    expect(streamed.usage).toMatchObject({ completion_tokens: whole.usage?.completion_tokens });
  });

  it('differ from choice to choice', async () => {
    const request = { ...ASKED, n: 3, seed: 5, tool_choice: 'required' as const, parallel_tool_calls: false };
    const { choices } = await clientOf(running()).chat.completions.create(request);
    expect(choices.map(({ message }) => callsOf(message).length)).toEqual([1, 1, 1]);
  });

  it('may be left alone by the model: the answer is an ordinary one', async () => {
    const { choices } = await clientOf(running()).chat.completions.create({ ...ASKED, max_completion_tokens: 12 });
    expect(choices[0]?.message).toMatchObject({ content: expect.stringMatching(/./u) as string });
    expect(choices[0]?.message).not.toHaveProperty('tool_calls');
    expect(choices[0]?.finish_reason).toMatch(/^(?:stop|length)$/u);
  });

  it('are cut where the tokens end, which is no call', async () => {
    const { choices } = await clientOf(running()).chat.completions.create({
      ...ASKED,
      tools: [weather],
      tool_choice: 'required',
      max_completion_tokens: 6,
    });
    expect(choices[0]?.finish_reason).toBe('length');
  });

  it('are shown to the model with what they have returned', async () => {
    const { prompt } = await running().ask<{ prompt: string }>('/apply-template', {
      messages: HISTORY,
      tools: [weather],
    });
    expect(prompt).toContain('Tells the weather');
    expect(prompt).toContain('"city": "Paris"');
    // As it was sent: neither in quotes nor escaped.
    expect(prompt).toContain('12 °C, "fair"\nand dry');
    expect(prompt.indexOf('and dry')).toBeLessThan(prompt.indexOf('It is fair.'));
    const none = await running().ask<{ prompt: string }>('/apply-template', {
      messages: HISTORY,
      tools: [weather],
      tool_choice: 'none',
    });
    expect(none.prompt).not.toContain('Tells the weather');
    expect(none.prompt).toContain('12 °C');
  });

  it('are shown whole, whatever their schemas say', async () => {
    const parameters = {
      $defs: { deep: { type: 'object', properties: { inner: { const: 7 } } } },
      type: 'object',
      properties: { either: { anyOf: [{ $ref: '#/$defs/deep' }, { type: 'null' }] }, any: true, open: {} },
    };
    const { prompt } = await running().ask<{ prompt: string }>('/apply-template', {
      messages: [{ role: 'system', content: 'Be brief.' }, ...HISTORY],
      tools: [functionTool('show', 'Shows it', parameters)],
    });
    for (const part of ['anyOf', '#/$defs/deep', 'inner', 'open', 'Shows it']) expect(prompt).toContain(part);
    expect(prompt.indexOf('Shows it')).toBeLessThan(prompt.indexOf('Weather?'));
  });

  it('may be called again after they have returned', async () => {
    const { choices } = await clientOf(running()).chat.completions.create({
      ...ASKED,
      messages: HISTORY.slice(0, 3),
      tool_choice: 'required',
    });
    expect(callsOf(choices[0]?.message)).not.toEqual([]);
  });
});

describe('a request with functions', () => {
  it('reads again only what is new of a conversation that goes on', async () => {
    const request = { ...ASKED, messages: HISTORY, max_completion_tokens: 4 };
    await clientOf(tagged).chat.completions.create(request);
    const { usage } = await clientOf(tagged).chat.completions.create(request);
    expect(usage?.prompt_tokens_details?.cached_tokens).toBeGreaterThan((usage?.prompt_tokens ?? 0) - 2);
  });

  it('that has left gives its sequence back at the next token', async () => {
    const leaving = new AbortController();
    const endless = functionTool('list', 'Lists', {
      type: 'object',
      required: ['all'],
      properties: { all: { type: 'array', minItems: 999 } },
    });
    const gone = tagged.post(
      '/v1/chat/completions',
      { ...ASKED, tools: [endless], tool_choice: 'required', max_completion_tokens: 3000, stream: true },
      leaving.signal,
    );
    await (await gone).body?.getReader().read();
    leaving.abort();
    await tagged.untilIdle();
  });

  it.each([
    [
      'a name that is not among them',
      { tool_choice: { type: 'function', function: { name: 'x' } } },
      /^'tool_choice'.*'x'/u,
    ],
    ['another choice', { tool_choice: 'sometimes' }, /^'tool_choice': must be none, auto, required/u],
    ['a choice among none', { tools: [], tool_choice: 'required' }, /^'tool_choice'/u],
    [
      'a pattern that looks ahead in a strict schema',
      withParameters({ properties: { a: { type: 'string', pattern: '(?=x)' } } }, true),
      /^'tools'.*'f'.*"pattern" at 'properties.a'/u,
    ],
    [
      'a list of at most less than at least',
      withParameters({ properties: { a: { type: 'array', minItems: 5, maxItems: 2 } } }),
      /^'tools'.*"maxItems" at 'properties.a'/u,
    ],
    ['parameters that are no object', withParameters({ type: 'string' }), /^'tools.0.function.parameters'/u],
    [
      'a reference to what is no object',
      withParameters({ $ref: '#/$defs/a', $defs: { a: { enum: [1] } } }),
      /^'tools.0/u,
    ],
    ['two of one name', { tools: [clock, clock] }, /^'tools'.*'clock'/u],
    ['a name with spaces', { tools: [functionTool('a b', '')] }, /^'tools.0.function.name'/u],
    ['something else than functions', { tools: [{ type: 'web_search' }] }, /^'tools.0.type'/u],
    ['a grammar besides', { grammar: 'root ::= "a"' }, /^'grammar' and 'tools'/u],
    ['the old form', { functions: [{ name: 'a' }] }, /^'functions'.*'tools'/u],
    [
      'a result of no call',
      {
        messages: [
          { role: 'user', content: 'a' },
          { role: 'tool', tool_call_id: 'b', content: 'c' },
        ],
      },
      /^'messages.1.tool_call_id': 'b'/u,
    ],
  ])('is refused in one sentence for %s', async (_, fields, message) => {
    const response = await child.post('/v1/chat/completions', { ...ASKED, ...fields });
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: { message: string; type: string } };
    expect(error).toMatchObject({ message: expect.stringMatching(message) as string, type: 'invalid_request_error' });
    expect(error.message).not.toContain('\n');
  });

  it('is refused for parameters that are nested without end', async () => {
    const deep = `${'{"default":'.repeat(100_000)}1${'}'.repeat(100_000)}`;
    const body = JSON.stringify({ ...ASKED, ...withParameters({ default: 'DEEP' }) }).replace('"DEEP"', deep);
    const response = await fetch(`${child.url}/v1/chat/completions`, { method: 'POST', body });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("'tools.0.function.parameters': is nested too deep.");
  });

  it('has the log say once what the template cannot express', async () => {
    const said = (): readonly string[] => child.lines.filter((line) => line.includes('No form for calls of functions'));
    await clientOf(child).chat.completions.create({ ...ASKED, max_completion_tokens: 2 });
    await clientOf(child).chat.completions.create({ ...ASKED, max_completion_tokens: 2 });
    expect(said()).toEqual([expect.stringContaining('||call: NAME({…})')]);
    expect(tagged.lines.join('\n')).not.toContain('calls of functions');
  });
});

const HISTORY: OpenAI.ChatCompletionMessageParam[] = [
  { role: 'user', content: 'Weather?' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'a', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } }],
  },
  { role: 'tool', tool_call_id: 'a', content: '12 °C, "fair"\nand dry' },
  { role: 'assistant', content: 'It is fair.' },
  { role: 'user', content: 'Thanks.' },
];

function clientOf({ url }: RunningChild): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 });
}

function functionTool(
  name: string,
  description: string,
  parameters?: Record<string, unknown>,
  strict = false,
): ChatCompletionTool {
  return { type: 'function', function: { name, description, strict, ...(parameters && { parameters }) } };
}

function withParameters(parameters: Record<string, unknown>, strict = false): { tools: ChatCompletionTool[] } {
  return { tools: [functionTool('f', '', parameters, strict)] };
}

function callsOf(
  message: OpenAI.ChatCompletionMessage | undefined,
): readonly { id: string; name: string; arguments: string }[] {
  return (message?.tool_calls ?? []).map((call) => {
    if (call.type !== 'function') throw new Error('only functions are called');
    return { id: call.id, ...call.function };
  });
}
