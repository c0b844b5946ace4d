import { describe, expect, it } from 'vitest';
import { argsForServe } from '../../src/cli/background.js';

describe('what a supervisor in the background is started with', () => {
  it('has no keys among its arguments, where everybody could read them', () => {
    const { argv, keys } = argsForServe(['--api-key', 'one', '--port', '1', '--api-key=two=2', '--sample-models']);
    expect(argv).toEqual(['--port', '1', '--sample-models']);
    expect(keys).toEqual(['one', 'two=2']);
  });

  it('has no flags of the screen', () => {
    const { argv } = argsForServe(['--glyphs', 'ascii', '--read-only', '--glyphs=unicode', '--models-max', '2']);
    expect(argv).toEqual(['--models-max', '2']);
  });

  it('has everything else as it was given', () => {
    const args = ['--models-dir', '/a b', '--ctx-size=4096', '-ngl', '99'];
    expect(argsForServe(args)).toEqual({ argv: args, keys: [] });
  });
});
