import { describe, expect, it } from 'vitest';
import { commandFirst } from '../../src/cli/order-args.js';
import { describeProgram } from '../../src/cli/program.js';
import { UsageError } from '../../src/cli/usage-error.js';
import { runProgram, temporaryDirectory } from '../support/serving.js';

const ordered = (...args: readonly string[]): readonly string[] => commandFirst(describeProgram(), args);

describe('flags before a command', () => {
  it.each(describeProgram().commands.find((command) => command.name() === 'serve')?.options ?? [])(
    'count for serve: $long',
    (option) => {
      const flag = option.required ? [option.long ?? '', 'x'] : [option.long ?? ''];
      expect(ordered(...flag, 'serve', '--watch')).toEqual(['serve', ...flag, '--watch']);
      expect(ordered(`${option.long}=x`, 'serve')).toEqual(['serve', `${option.long}=x`]);
    },
  );

  it('go to the models where they are not the router’s', () => {
    expect(ordered('--ctx-size', '512', '--jinja', 'serve')).toEqual(['serve', '--ctx-size', '512', '--jinja']);
  });

  it('come before those after it, of which the later counts', () => {
    const args = ordered('--port', '1', 'serve', '--port', '2');
    const serve = describeProgram().commands.find((command) => command.name() === 'serve');
    serve?.parseOptions(args.slice(1));
    expect(serve?.opts()['port']).toBe('2');
  });

  it('count for every command that has them, and are refused by every other', () => {
    for (const command of describeProgram().commands) {
      const name = command.name();
      const has = (flag: string): boolean => command.options.some(({ long }) => long === flag);
      for (const [flag, value] of [['--state-dir', '/x'], ['--port', '1'], ['--api-key', 'SECRET'], ['--watch']]) {
        const given = [flag ?? '', ...(value === undefined ? [] : [value])];
        if (has(flag ?? '')) expect(ordered(...given, name, 'm')).toEqual([name, ...given, 'm']);
        else
          expect(() => ordered(...given, name, 'm')).toThrow(
            new UsageError(`${name} takes no ${flag}; see llm-tui ${name} --help.`),
          );
      }
    }
    expect(() => ordered('--ctx-size', '512', 'ps')).toThrow('ps takes no --ctx-size');
  });

  it('are left alone where there is no command, or it comes first', () => {
    for (const args of [
      ['--port', '1'],
      ['ps', '--json'],
      ['--alias', 'x', 'y'],
      ['--', 'serve'],
      ['--models-dir', 'serve'],
    ])
      expect(ordered(...args)).toEqual(args);
  });

  it('are not dropped by the program', async () => {
    const directory = temporaryDirectory();
    const missing = await runProgram(
      ['--engine', 'sim', '--models-preset', '/no/such.ini', 'serve', '--port', '0'],
      directory,
    );
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('/no/such.ini') as string });
    const key = await runProgram(['--port', '1', '--models-dir', directory, 'ps'], directory);
    expect(key).toMatchObject({ code: 2, stderr: 'llm-tui: ps takes no --port; see llm-tui ps --help.\n' });
  });
});
