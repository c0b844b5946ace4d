import type { ChatCompletion } from 'openai/resources';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { THINKING } from './call-templates.js';
import { startSmall, type RunningChild } from './embedded-child.js';

let child: RunningChild;
beforeAll(async () => {
  child = await startSmall({ 'ctx-size': '2048', 'chat-template': THINKING });
});
afterAll(() => child[Symbol.asyncDispose]());

const MESSAGES = [{ role: 'user', content: 'Think.' }];

describe('where a template begins a thought', () => {
  it('the answer goes on after it', async () => {
    const request = { messages: MESSAGES, grammar: 'root ::= "so" "</think>" "yes"', max_tokens: 40 };
    const { choices } = await child.ask<ChatCompletion>('/v1/chat/completions', request);
    expect(choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'so</think>yes' } });
  });

  it('a call that has to come ends it first', async () => {
    const tools = [{ type: 'function', function: { name: 'f' } }];
    const request = { messages: MESSAGES, tools, tool_choice: 'required', max_tokens: 40 };
    const { usage } = await child.ask<ChatCompletion>('/v1/chat/completions', request);
    const { prompt } = await child.ask<{ prompt: string }>('/apply-template', { messages: MESSAGES, tools });
    expect(prompt).toMatch(/<think>$/u);
    const length = async (content: string): Promise<number> =>
      (await child.ask<{ tokens: number[] }>('/tokenize', { content })).tokens.length;
    const begun = (usage?.prompt_tokens ?? 0) - (await length(prompt));
    // The prompt may have the model's first token in front.
    expect([0, 1]).toContain(begun - (await length('</think>||call: ')));
  });
});
