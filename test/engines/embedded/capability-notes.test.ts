import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { LLAMA_SERVER_OPTIONS } from '../../../src/catalog/llama-server-options.js';
import {
  CAPABILITY_NOTES,
  findUnsupportedField,
  listNotes,
  sayOptionIgnored,
} from '../../../src/engines/embedded/capability-notes.js';

describe('what the embedded engine cannot do', () => {
  it('is said in the README, word for word', () => {
    expect(readFileSync(new URL('../../../README.md', import.meta.url), 'utf8')).toContain(listNotes());
  });

  it('names options that llama-server has', () => {
    for (const { what, options } of CAPABILITY_NOTES) {
      if (options === undefined) continue;
      expect(
        LLAMA_SERVER_OPTIONS.filter(({ name }) => options.test(name)),
        what,
      ).not.toEqual([]);
    }
  });

  it('is said for each option without effect, with what happens instead', () => {
    expect(sayOptionIgnored('kv-unified')).toMatch(/^--kv-unified has no effect: .*requests take turns\.$/u);
    expect(sayOptionIgnored('lora')).toMatch(/^--lora has no effect: LoRA adapters/u);
    expect(sayOptionIgnored('poll')).toBe('--poll has no effect: the embedded engine does not have it.');
  });

  it('is found in a request, but not where a request asks for nothing', () => {
    expect(findUnsupportedField({ n_probs: 5 })).toMatch(/^'n_probs': .*llama-server engine can\.$/u);
    expect(findUnsupportedField({ n_probs: 0, mirostat: null, logprobs: false, echo: false })).toBeNull();
  });
});
