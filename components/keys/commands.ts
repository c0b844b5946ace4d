import { openDialog } from '../../src/store/screen-store.js';
import type { Hint } from '../layout/footer.js';
import type { PageContent } from '../panes/why.js';
import { span, type Row } from '../widgets/row.js';
import type { ScreenView } from '../view.js';
import type { Command, CommandGroup } from './command.js';
import { keyLabel } from './key-names.js';
import { LOOK_COMMANDS } from './look-commands.js';
import { MODEL_COMMANDS } from './model-commands.js';
import { MOVE_COMMANDS } from './move-commands.js';

const SCREEN_COMMANDS: readonly Command[] = [
  {
    name: 'command',
    keys: [':'],
    group: 'screen',
    help: 'type a command by its name',
    hint: null,
    acts: false,
    available: () => true,
    run: (context) => context.screen.setState({ input: { kind: 'command', text: '', before: '' } }),
  },
  {
    name: 'redraw',
    keys: ['ctrl+l'],
    group: 'screen',
    help: 'draw the whole screen again',
    hint: null,
    acts: false,
    available: () => true,
    run: (context) => context.redraw(),
  },
  {
    name: 'quit',
    keys: ['q', 'ctrl+c'],
    group: 'screen',
    help: 'leave: asks what becomes of the models',
    hint: 'leave',
    acts: false,
    available: () => true,
    run: (context, view) => {
      if (view.connection.state === 'live' && !context.screen.getState().stopping) {
        openDialog(context.screen, { kind: 'leave' });
      } else context.answer('leave', null);
    },
  },
];

/** The one table: key handling, help, hints and the command line are all made from it. */
export const COMMANDS: readonly Command[] = [...MODEL_COMMANDS, ...LOOK_COMMANDS, ...MOVE_COMMANDS, ...SCREEN_COMMANDS];

/** The command that a key stands for, or null. */
export function commandForKey(key: string): Command | null {
  return COMMANDS.find((command) => command.keys.includes(key)) ?? null;
}

/** The command of this name, or the only one whose name begins like this; null: none, or several. */
export function commandForName(name: string): Command | null {
  const exact = COMMANDS.find((command) => command.name === name);
  if (exact !== undefined) return exact;
  const starting = name === '' ? [] : COMMANDS.filter((command) => command.name.startsWith(name));
  return starting.length === 1 ? (starting[0] ?? null) : null;
}

/** The commands that this screen has at all. */
export function offeredCommands(readOnly: boolean): readonly Command[] {
  return COMMANDS.filter((command) => !(readOnly && command.acts));
}

/** The keys that would do something now, for the last row. */
export function hintsFor(view: ScreenView): readonly Hint[] {
  const back: Hint[] = view.screen.page === null ? [] : [{ key: 'Esc', label: 'back' }];
  const hints = offeredCommands(view.options.readOnly)
    .filter((command) => command.hint !== null && command.available(view))
    .map((command): Hint => ({ key: keyLabel(command.keys[0] ?? ''), label: command.hint ?? '' }));
  return [...back, ...hints];
}

const GROUP_TITLES: Readonly<Record<CommandGroup, string>> = {
  models: 'Models',
  look: 'Looking',
  move: 'Moving',
  screen: 'Screen',
};

/** The help screen. */
export function helpPage(view: ScreenView): PageContent {
  const offered = offeredCommands(view.options.readOnly);
  const groups = (Object.keys(GROUP_TITLES) as CommandGroup[]).flatMap((group): Row[] => {
    const commands = offered.filter((command) => command.group === group);
    if (commands.length === 0) return [];
    return [
      [span(GROUP_TITLES[group], 'strong')],
      ...commands.map((command): Row => [
        span('  '),
        span(command.keys.map(keyLabel).join(' ').padEnd(10), 'accent'),
        span(command.name.padEnd(15), 'dim'),
        span(command.help),
      ]),
      [],
    ];
  });
  const { supervisor } = view.snapshot;
  const legend = view.options.glyphs;
  return {
    title: 'Help',
    rows: [
      ...groups,
      [span('Bars', 'strong')],
      [
        span(
          `  letters: held by the model with that letter   ${legend.reserved} reserved for it   ${legend.releasing} on its way back   ` +
            `${legend.external} external   ${legend.free} free   ${legend.margin} margin`,
        ),
      ],
      [span('  * pinned   B blocked   ~ estimated')],
      [],
      [span('Supervisor', 'strong')],
      [span(`  version ${supervisor.version}, pid ${supervisor.pid}, ${supervisor.url}`)],
      [span(`  engine ${supervisor.engine.name}: ${supervisor.engine.reason}`)],
      ...supervisor.sources.map((source): Row => [span('  '), span(`models from ${source}`)]),
      ...(supervisor.notices.length === 0 ? [] : [[], [span('Notices', 'strong')]]),
      ...supervisor.notices.map((notice): Row => [span('  '), span(notice, 'warn')]),
    ],
  };
}
