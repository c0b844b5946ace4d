import { Option, type Command } from 'commander';

/** How a screen is drawn, and whether it may act. */
export interface ScreenFlags {
  readonly glyphs: 'auto' | 'unicode' | 'ascii';
  readonly theme: 'auto' | 'dark' | 'light' | 'mono';
  readonly readOnly: boolean;
  /** Absent: as the environment says. */
  readonly screenReader?: true;
}

export function addScreenFlags(command: Command): Command {
  const glyphs = new Option('--glyphs <set>', 'characters of the screen').choices(['auto', 'unicode', 'ascii']);
  const theme = new Option('--theme <name>', "colours of the screen, for the terminal's background").choices([
    'auto',
    'dark',
    'light',
    'mono',
  ]);
  return command
    .addOption(glyphs.default('auto'))
    .addOption(theme.default('auto'))
    .addOption(new Option('--screen-reader', 'a screen that says what changes, line by line, instead of drawing'))
    .addOption(new Option('--read-only', 'a screen that only looks: every action is hidden'));
}

export function readScreenFlags(command: Command): ScreenFlags {
  const given = command.opts<Partial<ScreenFlags>>();
  return {
    glyphs: given.glyphs ?? 'auto',
    theme: given.theme ?? 'auto',
    readOnly: given.readOnly === true,
    ...(given.screenReader === true ? { screenReader: true } : {}),
  };
}
