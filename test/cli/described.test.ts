import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { completionScript } from '../../src/cli/completion.js';
import { manPage } from '../../src/cli/man-page.js';
import { describeProgram } from '../../src/cli/program.js';
import { addScreenFlags } from '../../src/cli/screen-flags.js';
import { VERSION } from '../../src/cli/version.js';
import { runProgram, temporaryDirectory } from '../support/serving.js';

const FLAGS = describeProgram()
  .options.filter(({ hidden }) => !hidden)
  .map(({ long }) => long ?? '');

/** What bash offers for a line that is being typed. */
function offered(...words: readonly string[]): readonly string[] {
  const script = `${completionScript(describeProgram(), 'bash')}
    COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _llm_tui; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync('bash', ['-c', script], { encoding: 'utf8' }).split('\n').filter(Boolean);
}

describe('the manual page', () => {
  it('is what the command line is (npm run man writes it anew)', () => {
    const written = readFileSync(resolve(import.meta.dirname, '../../man/llm-tui.1'), 'utf8');
    expect(written).toBe(manPage(describeProgram(), VERSION));
  });

  it('names every command and every flag, and none that is for machines', () => {
    const page = manPage(describeProgram(), VERSION).replaceAll('\\-', '-');
    const commands = describeProgram().commands.map((command) => command.name());
    expect([...FLAGS, ...commands].filter((name) => !page.includes(name))).toEqual([]);
    expect(page).not.toContain('--owned');
  });
});

describe('completion', () => {
  it('offers commands, flags of a command, and the words that a flag takes', () => {
    expect(offered('llm-tui', 'me')).toEqual(['measure']);
    expect(offered('llm-tui', 'ps', '--js')).toEqual(['--json']);
    expect(offered('llm-tui', '--policy', '')).toEqual(['lru', 'lru-any-device', 'cost']);
    expect(offered('llm-tui', 'completion', 'f')).toEqual(['fish']);
    expect(offered('llm-tui', 'serve', '--wat')).toEqual(['--watch']);
  });

  it.each(['zsh', 'fish'] as const)('knows every flag in %s', (shell) => {
    const script = completionScript(describeProgram(), shell);
    expect(FLAGS.filter((flag) => !script.includes(flag.slice(2)))).toEqual([]);
  });
});

describe('the program', () => {
  it('groups its help under headings, each flag under one', async () => {
    const { stdout, code } = await runProgram(['serve', '--help'], temporaryDirectory());
    expect(code).toBe(0);
    for (const heading of ['Models:', 'Listening:', 'Memory and waiting:', 'Engine:', 'This supervisor:']) {
      expect(stdout).toContain(`\n${heading}\n`);
    }
    const notItsOwn = ['--version', ...addScreenFlags(new Command()).options.map(({ long }) => long)];
    for (const flag of FLAGS.filter((name) => !notItsOwn.includes(name))) {
      expect(stdout).toMatch(new RegExp(`^  ${flag}\\b`, 'mu'));
    }
  });
});
