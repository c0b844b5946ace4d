import * as library from 'node-llama-cpp';
import { describe, expect, it } from 'vitest';
import { endOfThought } from '../../../src/engines/embedded/generation/thoughts.js';
import { readCallFormat, sayFormatLimit, type CallFormat } from '../../../src/engines/embedded/tools/call-format.js';
import { APART, BARE, CONTROLLED, LISTED, TAGGED, THINKING, WORDED } from './call-templates.js';

function wrapperFor(template: string): library.JinjaTemplateChatWrapper {
  return new library.JinjaTemplateChatWrapper({ template, functionCallMessageTemplate: 'auto' });
}

function formatOf(template: string): CallFormat {
  const format = readCallFormat(library, wrapperFor(template));
  if (format === null) throw new Error('there is no format');
  return format;
}

/** Two calls as the model is made to write them. */
function write({ open, beforeArguments, afterArguments, between }: CallFormat): string {
  const call = (name: string): string => `${name}${beforeArguments(name)}{"a": 1}${afterArguments(name)}`;
  return open + call('f') + (between === null ? '' : between + call('g'));
}

describe('the form of calls of functions', () => {
  it.each([
    ['tagged', TAGGED, '<tool_call>', false],
    ['listed', LISTED, '[TOOL_CALLS]', false],
    ['worded', WORDED, 'call', false],
    ['by a control token', CONTROLLED, '<|im_start|>', false],
    ['without a mark', BARE, '{"name": "', true],
    ['each argument apart', APART, '<tool_call>', false],
  ])('is what the template itself writes: %s', (_, template, trigger, atStart) => {
    const format = formatOf(template);
    expect(format).toMatchObject({ trigger, triggersAtStartOnly: atStart });
    const call = (name: string, startsNewChunk: boolean) =>
      ({ type: 'functionCall', name, params: { a: 1 }, result: '', startsNewChunk }) as const;
    const response = format.between === null ? [call('f', true)] : [call('f', true), call('g', false)];
    const rendered = wrapperFor(template)
      .generateContextState({
        chatHistory: [
          { type: 'user', text: 'a' },
          { type: 'model', response },
        ],
      })
      .contextText.toString();
    expect(rendered).toContain(write(format));
  });

  it('is the one of the library where the template has none', () => {
    const common = formatOf(THINKING);
    expect(write(common)).toBe('||call: f({"a": 1})');
    expect(common).toMatchObject({ trigger: '||call:', triggersAtStartOnly: false });
  });

  it('is not used where it begins in the middle of a control token, or with nothing', () => {
    const wrapper = wrapperFor(TAGGED);
    const { functions } = wrapper.settings;
    const withPrefix = (prefix: string): library.ChatWrapper =>
      Object.assign(Object.create(wrapper) as library.ChatWrapper, {
        settings: { ...wrapper.settings, functions: { ...functions, call: { ...functions.call, prefix } } },
      });
    expect(readCallFormat(library, withPrefix('CALLS|>['))).toBeNull();
    expect(readCallFormat(library, withPrefix('\n'))).toBeNull();
    expect(readCallFormat(library, withPrefix('<|CALLS|>['))).not.toBeNull();
  });

  it('has a limit where a template writes each argument apart, and only there', () => {
    expect(sayFormatLimit(formatOf(APART))).toMatch(/^The chat template writes each argument/u);
    for (const template of [TAGGED, LISTED, WORDED, BARE, THINKING]) {
      expect(sayFormatLimit(formatOf(template))).toBeNull();
    }
  });
});

it('a thought that a template has begun is ended before a call that has to come', () => {
  const end = (template: string, text: string): string => endOfThought(library, wrapperFor(template), text);
  expect(end(THINKING, '<|im_start|>assistant\n<think>')).toBe('</think>');
  expect(end(THINKING, '<|im_start|>assistant\n<think>so</think>')).toBe('');
  expect(end(TAGGED, '<|im_start|>assistant\n')).toBe('');
});
