import { execFileSync } from 'node:child_process';
import { isTooSmall, SMALLEST } from '../../../components/layout/allot.js';
import { chooseGlyphs } from '../../../components/theme/glyphs.js';
import type { Finding, Level } from './finding.js';

const TMUX_MILLIS = 2000;

/** What the screen will look like here. Nothing of it keeps models from being served. */
export function lookAtTerminal(stdout: NodeJS.WriteStream, environment: NodeJS.ProcessEnv): readonly Finding[] {
  const found = (name: string, level: Level, text: string, fix: string | null = null): Finding => {
    return { area: 'terminal', name, level, text, fix };
  };
  if (!stdout.isTTY) return [found('size', 'ok', 'this is no terminal; plain lines are printed instead of a screen')];
  const { columns, rows } = stdout;
  const size = `${columns} x ${rows}`;
  const least = `${SMALLEST.columns} x ${SMALLEST.rows}`;
  const isAscii = chooseGlyphs('auto', environment).name === 'ascii';
  return [
    isTooSmall({ columns, rows })
      ? found('size', 'warn', `${size}; the screen needs ${least}`, 'make the pane larger')
      : found('size', 'ok', `${size}${columns < 140 ? '; at 140 columns nothing is left out' : ''}`),
    found('colours', 'ok', sayColours(stdout, environment)),
    isAscii
      ? found(
          'characters',
          'ok',
          'ASCII: the locale is not UTF-8, or the terminal is a console (--glyphs unicode forces them)',
        )
      : found('characters', 'ok', 'Unicode'),
    ...(environment['TMUX'] ? [found('tmux', 'ok', sayTmux())] : []),
  ];
}

function sayColours(stdout: NodeJS.WriteStream, environment: NodeJS.ProcessEnv): string {
  if (environment['NO_COLOR']) return 'none, as NO_COLOR asks; every state is a word as well';
  const depth = stdout.getColorDepth(environment);
  return depth === 1 ? 'none; every state is a word as well' : `${2 ** depth} (TERM=${environment['TERM'] ?? ''})`;
}

function sayTmux(): string {
  try {
    return execFileSync('tmux', ['-V'], { encoding: 'utf8', timeout: TMUX_MILLIS }).trim();
  } catch {
    return 'of unknown version';
  }
}
