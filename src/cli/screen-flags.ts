import { Option, type Command } from 'commander';

/** How a screen is drawn, and whether it may act. */
export interface ScreenFlags {
  readonly glyphs: 'auto' | 'unicode' | 'ascii';
  readonly readOnly: boolean;
}

export function addScreenFlags(command: Command): Command {
  const glyphs = new Option('--glyphs <set>', 'characters of the screen').choices(['auto', 'unicode', 'ascii']);
  return command
    .addOption(glyphs.default('auto'))
    .addOption(new Option('--read-only', 'a screen that only looks: every action is hidden'));
}

export function readScreenFlags(command: Command): ScreenFlags {
  const given = command.opts<{ glyphs?: ScreenFlags['glyphs']; readOnly?: boolean }>();
  return { glyphs: given.glyphs ?? 'auto', readOnly: given.readOnly === true };
}
