import { deepEqual, equal, ok, rejects } from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import Anthropic, { NotFoundError as AnthropicNotFound } from '@anthropic-ai/sdk';
import OpenAI, { APIConnectionTimeoutError, APIUserAbortError, BadRequestError, NotFoundError } from 'openai';
import { until } from '../support/until.js';

/** The two clients, each for one server. */
export interface Speaking {
  readonly openai: OpenAI;
  readonly anthropic: Anthropic;
}

export interface Clients extends Speaking {
  readonly url: string;
  /** A model that speaks, one that makes vectors, and one that calls tools. */
  readonly speaks: string;
  readonly embeds: string;
  readonly calls: string;
  /** Where the child of a model that runs listens itself. */
  readonly childOf: (model: string) => Promise<string>;
}

export interface Check {
  readonly name: string;
  /** Throws where anything is not as with llama-server itself. */
  readonly check: (clients: Clients) => Promise<void>;
}

export function clientsOf(url: string): Speaking {
  const options = { apiKey: 'a-key', maxRetries: 0, timeout: 60_000 };
  return {
    openai: new OpenAI({ ...options, baseURL: `${url}/v1` }),
    anthropic: new Anthropic({ ...options, baseURL: url }),
  };
}

export const messages: { role: 'user'; content: string }[] = [
  { role: 'user', content: 'What is the weather in Paris?' },
];
const CITY = {
  type: 'object' as const,
  properties: { city: { type: 'string', enum: ['Paris', 'Rome'] } },
  required: ['city'],
};
const LONG = 3000;
const SLOT_LOOK_MILLIS = 1500;

export const CHECKS: readonly Check[] = [
  {
    name: 'openai chats in one piece',
    check: async ({ openai, speaks: model }) => {
      const { choices, usage } = await openai.chat.completions.create({ model, messages, max_completion_tokens: 5 });
      equal(choices[0]?.finish_reason, 'length');
      equal(usage?.completion_tokens, 5);
    },
  },
  {
    name: 'openai chats in a stream, with its usage at the end',
    check: async ({ openai, speaks: model }) => {
      const asked = {
        model,
        messages,
        max_completion_tokens: 8,
        stream: true,
        stream_options: { include_usage: true },
      } as const;
      const chunks = [];
      for await (const chunk of await openai.chat.completions.create(asked)) chunks.push(chunk);
      ok(chunks.length > 4, `it came in ${chunks.length} chunks`);
      equal(chunks.at(-1)?.usage?.completion_tokens, 8);
    },
  },
  {
    name: 'openai offers a tool and tells what it gave, in one piece and in a stream',
    check: async ({ openai, speaks: model }) => {
      const called = {
        id: 'call-1',
        type: 'function' as const,
        function: { name: 'weather', arguments: '{"city":"Paris"}' },
      };
      const asked = {
        model,
        messages: [
          ...messages,
          { role: 'assistant' as const, content: '', tool_calls: [called] },
          { role: 'tool' as const, tool_call_id: called.id, content: 'Rain.' },
        ],
        tools: [
          { type: 'function' as const, function: { name: 'weather', description: 'Weather.', parameters: CITY } },
        ],
        max_completion_tokens: 5,
      };
      equal((await openai.chat.completions.create(asked)).usage?.completion_tokens, 5);
      const [choice] = (await openai.chat.completions.stream(asked).finalChatCompletion()).choices;
      equal(choice?.finish_reason, 'length');
    },
  },
  {
    name: 'openai gets JSON of a schema, and speaks through /v1/responses and /v1/completions',
    check: async ({ openai, speaks: model }) => {
      const schema = { type: 'json_schema' as const, json_schema: { name: 'city', schema: CITY } };
      const asked = { model, messages, response_format: schema, max_completion_tokens: 200 };
      const answer = (await openai.chat.completions.create(asked)).choices[0]?.message.content ?? '';
      deepEqual(Object.keys(JSON.parse(answer) as object), ['city']);
      const response = await openai.responses.create({ model, input: 'Hello', max_output_tokens: 5 });
      ok(response.output.length > 0);
      const completion = await openai.completions.create({ model, prompt: 'Once', max_tokens: 3 });
      equal(completion.usage?.completion_tokens, 3);
    },
  },
  {
    name: 'openai embeds, in the base64 that it asks for by itself',
    check: async ({ openai, embeds: model }) => {
      const { data } = await openai.embeddings.create({ model, input: ['one', 'two'] });
      equal(data.length, 2);
      ok(data.every(({ embedding }) => embedding.length > 8 && embedding.every(Number.isFinite)));
    },
  },
  {
    name: 'openai lists the models and finds one',
    check: async ({ openai, speaks, embeds }) => {
      const ids = (await openai.models.list()).data.map(({ id }) => id);
      ok(ids.includes(speaks) && ids.includes(embeds), ids.join(', '));
      equal((await openai.models.retrieve(speaks)).id, speaks);
    },
  },
  {
    name: 'openai throws what it should: an unknown model, and what the child itself finds wrong',
    check: async ({ openai, speaks: model }) => {
      await rejects(openai.chat.completions.create({ model: 'nobody', messages }), NotFoundError);
      const wrong = { model, messages: 'none' } as unknown as { model: string; messages: typeof messages };
      await rejects(openai.chat.completions.create(wrong), BadRequestError);
    },
  },
  {
    name: 'openai aborts a stream, and the child ends it',
    check: async ({ openai, url, speaks: model }) => {
      const controller = new AbortController();
      const asked = { model, messages, max_completion_tokens: LONG, stream: true } as const;
      const stream = await openai.chat.completions.create(asked, { signal: controller.signal });
      for await (const chunk of stream) if (chunk.choices.length > 0) break;
      controller.abort();
      await until('no slot of the child is at work', () => isIdle(url, model));
      const before = openai.chat.completions.create({ ...asked, stream: false }, { signal: AbortSignal.abort() });
      await rejects(before, APIUserAbortError);
    },
  },
  {
    name: 'openai gives up after its time limit, and the child ends it',
    check: async ({ openai, url, speaks: model }) => {
      const late = openai.chat.completions.create({ model, messages, max_completion_tokens: LONG }, { timeout: 250 });
      await rejects(late, APIConnectionTimeoutError);
      await until('no slot of the child is at work', () => isIdle(url, model));
    },
  },
  {
    name: 'anthropic speaks in one piece and in a stream, and counts tokens',
    check: async ({ anthropic, speaks: model }) => {
      const whole = await anthropic.messages.create({ model, max_tokens: 5, messages });
      equal(whole.stop_reason, 'max_tokens');
      const stream = anthropic.messages.stream({ model, max_tokens: 5, messages });
      const final = await stream.finalMessage();
      equal(final.usage.output_tokens, 5);
      ok((await anthropic.messages.countTokens({ model, messages })).input_tokens > 0);
    },
  },
  {
    name: 'anthropic offers a tool and tells what it gave',
    check: async ({ anthropic, speaks: model }) => {
      const use = { type: 'tool_use' as const, id: 'call-1', name: 'weather', input: { city: 'Paris' } };
      const result = { type: 'tool_result' as const, tool_use_id: use.id, content: 'Rain.' };
      const { usage } = await anthropic.messages.create({
        model,
        messages: [...messages, { role: 'assistant', content: [use] }, { role: 'user', content: [result] }],
        tools: [{ name: 'weather', description: 'The weather.', input_schema: CITY }],
        max_tokens: 5,
      });
      equal(usage.output_tokens, 5);
    },
  },
  {
    name: 'anthropic throws what it should',
    check: async ({ anthropic }) => {
      await rejects(anthropic.messages.create({ model: 'nobody', max_tokens: 5, messages }), AnthropicNotFound);
    },
  },
];

/**
 * llama-server looks whether its client is still there when nothing has happened for a second, and every request to it,
 * also one about its slots, makes that second begin again: so it is asked less often than that.
 */
async function isIdle(url: string, model: string): Promise<boolean> {
  await delay(SLOT_LOOK_MILLIS);
  const response = await fetch(`${url}/slots?model=${model}`);
  const slots = (await response.json()) as readonly { readonly is_processing: boolean }[];
  return slots.every((slot) => !slot.is_processing);
}
