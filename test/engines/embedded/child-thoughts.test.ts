import type { ChatCompletion } from 'openai/resources';
import { expect, it } from 'vitest';
import { THINKING } from './call-templates.js';
import { startSmall } from './embedded-child.js';

it('an answer goes on after a thought that the template has begun for it', async () => {
  await using child = await startSmall({ 'ctx-size': '2048', 'chat-template': THINKING });
  const messages = [{ role: 'user', content: 'Think.' }];
  const request = { messages, grammar: 'root ::= "so" "</think>" "yes"', max_tokens: 40 };
  const { choices } = await child.ask<ChatCompletion>('/v1/chat/completions', request);
  expect(choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'so</think>yes' } });
});
