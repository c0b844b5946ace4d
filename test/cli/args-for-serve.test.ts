import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { argsForServe, asksForNothing, flagsKey } from '../../src/cli/args-for-serve.js';
import { addScreenFlags } from '../../src/cli/screen-flags.js';

describe('what a supervisor in the background is started with', () => {
  it('has no keys and tokens among its arguments, where everybody could read them', () => {
    const keys = ['--api-key', 'one', '--port', '1', '--api-key=two=2'];
    const { argv, secrets } = argsForServe([...keys, '--hf-token', 'hf_a', '-hft=hf_b', '--sample-models']);
    expect(argv).toEqual(['--port', '1', '--sample-models']);
    expect(secrets).toEqual({ LLAMA_API_KEY: 'one,two=2', HF_TOKEN: 'hf_b' });
  });

  it('has no flags of the screen', () => {
    const { argv } = argsForServe(['--glyphs', 'ascii', '--read-only', '--glyphs=unicode', '--models-max', '2']);
    expect(argv).toEqual(['--models-max', '2']);
    for (const option of addScreenFlags(new Command()).options) {
      const value = option.required ? ['a value'] : [];
      expect(argsForServe([option.long ?? '', ...value]).argv, option.long).toEqual([]);
    }
  });

  it('has everything else as it was given', () => {
    const args = ['--models-dir', '/a b', '--ctx-size=4096', '-ngl', '99'];
    expect(argsForServe(args)).toEqual({ argv: args, secrets: {} });
  });
});

describe('whether a supervisor that runs is the one that is asked for', () => {
  it('is told by its flags, wherever its state is and however it ends', () => {
    const key = flagsKey(['--models-max', '1'], {});
    expect(flagsKey(['--state-dir', '/a', '--models-max', '1', '--on-close=detach', '--owned'], {})).toBe(key);
    expect(flagsKey(['--models-max', '2'], {})).not.toBe(key);
  });

  it('takes a key for the same, whether it came as an argument or in the environment', () => {
    const key = flagsKey(['--api-key', 'secret'], {});
    expect(flagsKey([], { LLAMA_API_KEY: 'secret' })).toBe(key);
    expect(flagsKey([], {})).not.toBe(key);
    expect(key).not.toContain('secret');
  });

  it('does not matter to somebody who only wants a screen', () => {
    expect(asksForNothing(['--state-dir', '/a', '--glyphs', 'ascii', '--read-only'])).toBe(true);
    expect(asksForNothing(['--sample-models'])).toBe(false);
    expect(asksForNothing(['--api-key', 'x'])).toBe(false);
  });
});
