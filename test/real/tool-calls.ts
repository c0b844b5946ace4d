import { deepEqual, equal } from 'node:assert/strict';
import type Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import { clientsOf, messages, type Check } from './official-clients.js';

const LIMIT = 400;

/** A call of a tool, with its arguments read. */
interface Call {
  readonly name: string;
  readonly input: unknown;
}

/** There is one thing to say for each. */
const FORECAST = {
  type: 'object' as const,
  properties: { city: { type: 'string', enum: ['Paris'] }, days: { type: 'integer', enum: [3] } },
  required: ['city', 'days'],
};
const FORECAST_CALLED: readonly Call[] = [{ name: 'forecast', input: { city: 'Paris', days: 3 } }];

/**
 * A model with random weights calls no tool by itself. One that has to, and that is made to begin as calls begin in its
 * template (`logit-bias`), is led by the grammar from there on.
 */
export const TOOL_CHECKS: readonly Check[] = [
  {
    name: 'openai gets the call of a tool in one piece and in a stream, as from the child itself',
    check: async ({ openai, calls: model, childOf }) => {
      const asked = {
        ...{ model, messages, max_completion_tokens: LIMIT, temperature: 0, tool_choice: 'required' as const },
        tools: [
          { type: 'function' as const, function: { name: 'forecast', description: 'Forecast.', parameters: FORECAST } },
        ],
      };
      const { openai: direct } = clientsOf(await childOf(model));
      for (const client of [openai, direct]) {
        deepEqual(callsIn(await client.chat.completions.create(asked)), FORECAST_CALLED);
        deepEqual(callsIn(await client.chat.completions.stream(asked).finalChatCompletion()), FORECAST_CALLED);
      }
    },
  },
  {
    name: 'anthropic gets the use of a tool in one piece and in a stream, as from the child itself',
    check: async ({ anthropic, calls: model, childOf }) => {
      const asked = {
        ...{ model, messages, max_tokens: LIMIT, temperature: 0, tool_choice: { type: 'any' as const } },
        tools: [{ name: 'forecast', description: 'Forecast.', input_schema: FORECAST }],
      };
      const { anthropic: direct } = clientsOf(await childOf(model));
      for (const client of [anthropic, direct]) {
        deepEqual(usesIn(await client.messages.create(asked)), FORECAST_CALLED);
        deepEqual(usesIn(await client.messages.stream(asked).finalMessage()), FORECAST_CALLED);
      }
    },
  },
];

function callsIn({ choices: [choice] }: OpenAI.ChatCompletion): readonly Call[] {
  equal(choice?.finish_reason, 'tool_calls');
  return (choice.message.tool_calls ?? []).flatMap((call) =>
    call.type === 'function'
      ? [{ name: call.function.name, input: JSON.parse(call.function.arguments) as unknown }]
      : [],
  );
}

function usesIn({ content, stop_reason }: Anthropic.Message): readonly Call[] {
  equal(stop_reason, 'tool_use');
  return content.flatMap((block) => (block.type === 'tool_use' ? [{ name: block.name, input: block.input }] : []));
}
