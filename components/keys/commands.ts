import { openDialog } from '../../src/store/screen-store.js';
import type { Hint } from '../layout/footer.js';
import type { KeyTexts } from '../layout/frame.js';
import type { PageContent } from '../panes/page-content.js';
import type { Glyphs } from '../theme/glyphs.js';
import { span, type Row } from '../widgets/row.js';
import { offers, type ScreenView } from '../view.js';
import type { Command, CommandGroup } from './command.js';
import { keyLabel } from './key-names.js';
import { completions } from './palette.js';
import { COPY_COMMANDS } from './copy-commands.js';
import { LOG_COMMANDS } from './log-commands.js';
import { LOOK_COMMANDS } from './look-commands.js';
import { MODEL_COMMANDS } from './model-commands.js';
import { MOVE_COMMANDS } from './move-commands.js';
import { TIME_COMMANDS } from './time-commands.js';

const SCREEN_COMMANDS: readonly Command[] = [
  {
    name: 'command',
    keys: [':'],
    group: 'screen',
    help: 'type a command by its name, with what it is for: load NAME; Tab completes, Up brings back',
    hint: null,
    acts: false,
    needs: null,
    takes: null,
    available: () => true,
    run: (context) => context.screen.setState({ input: { kind: 'command', text: '', before: '' }, message: null }),
  },
  {
    name: 'redraw',
    keys: ['ctrl+l'],
    group: 'screen',
    help: 'draw the whole screen again',
    hint: null,
    acts: false,
    needs: null,
    takes: null,
    available: () => true,
    run: (context) => context.redraw(),
  },
  {
    name: 'suspend',
    keys: ['ctrl+z'],
    group: 'screen',
    help: 'back to the shell for a while; fg brings the screen back',
    hint: null,
    acts: false,
    needs: null,
    takes: null,
    available: () => true,
    run: (context) => context.suspend(),
  },
  {
    name: 'quit',
    keys: ['q', 'ctrl+c'],
    group: 'screen',
    help: 'leave: asks what becomes of the models',
    hint: 'leave',
    acts: false,
    needs: null,
    takes: null,
    available: () => true,
    run: (context, view) => {
      // Whoever looks at a recording keeps nobody from anything.
      const isLive = view.connection.state === 'live' && view.position === null;
      if (isLive && !context.screen.getState().stopping) {
        openDialog(context.screen, { kind: 'leave' });
      } else context.answer('leave', null);
    },
  },
];

/** The one table: key handling, help, hints and the command line are all made from it. */
export const COMMANDS: readonly Command[] = [
  ...MODEL_COMMANDS,
  ...LOOK_COMMANDS,
  ...LOG_COMMANDS,
  ...COPY_COMMANDS,
  ...TIME_COMMANDS,
  ...MOVE_COMMANDS,
  ...SCREEN_COMMANDS,
];

/** The command that a key stands for, or null. */
export function commandForKey(key: string): Command | null {
  return COMMANDS.find((command) => command.keys.includes(key)) ?? null;
}

/** The commands that this screen has at all. */
export function offeredCommands(view: Pick<ScreenView, 'options'>): readonly Command[] {
  return COMMANDS.filter((command) => offers(view, command.needs, command.acts));
}

/** How the keys are called that a log is read with. */
const IN_A_LOG: Readonly<Record<string, string>> = {
  follow: 'follow',
  wrap: 'wrap',
  filter: 'search',
  copy: 'copy line',
};

/** The keys that would do something now, for the last row. */
export function hintsFor(view: ScreenView): readonly Hint[] {
  const back: Hint[] = view.screen.page === null ? [] : [{ key: 'Esc', label: 'back' }];
  const possible = offeredCommands(view).filter(
    (command) => command.hint !== null && command.keys.length > 0 && command.available(view),
  );
  // In a log what it is read with comes first.
  const first = view.screen.page?.kind === 'logs' ? possible.filter(({ name }) => name in IN_A_LOG) : [];
  const hints = [...first, ...possible.filter((command) => !first.includes(command))].map((command): Hint => ({
    key: keyLabel(command.keys[0] ?? ''),
    label: (first.includes(command) ? IN_A_LOG[command.name] : null) ?? command.hint ?? '',
  }));
  const inTime: Hint[] =
    view.position === null
      ? []
      : [
          { key: '[ ]', label: 'step' },
          { key: 'space', label: view.position.playing ? 'stop' : 'play' },
        ];
  return [...back, ...inTime, ...hints];
}

/** Everything that a frame has of the commands. */
export function keyTexts(view: ScreenView): KeyTexts {
  const { input } = view.screen;
  const isTyping = input?.kind === 'command' && input.text !== '';
  return {
    hints: hintsFor(view),
    typing: isTyping ? completions(input.text, COMMANDS, view).map((line) => lastWord(line, input.text)) : [],
    help: () => helpPage(view),
  };
}

/** Of a completion only what is still open: the name of the model, not the command before it. */
function lastWord(completion: string, typed: string): string {
  return /\s/u.test(typed.trimStart()) ? completion.slice(completion.indexOf(' ') + 1) : completion;
}

const GROUP_TITLES: Readonly<Record<CommandGroup, string>> = {
  models: 'Models',
  look: 'Looking',
  move: 'Moving',
  screen: 'Screen',
};

/** The help screen. */
export function helpPage(view: ScreenView): PageContent {
  const offered = offeredCommands(view);
  const groups = (Object.keys(GROUP_TITLES) as CommandGroup[]).flatMap((group): Row[] => {
    const commands = offered.filter((command) => command.group === group);
    if (commands.length === 0) return [];
    return [
      [span(GROUP_TITLES[group], 'strong')],
      ...commands.map((command): Row => [
        span('  '),
        // What no key stands for is typed.
        span((command.keys.map(keyLabel).join(' ') || ':').padEnd(10), 'accent'),
        span(`${command.name} `.padEnd(16), 'dim'),
        span(command.help),
      ]),
      [],
    ];
  });
  const { supervisor } = view.snapshot;
  return {
    title: 'Help',
    rows: [
      ...groups,
      ...legendRows(view.options.glyphs),
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

/** What the marks, short words and numbers on the screen mean. */
function legendRows(glyphs: Glyphs): Row[] {
  const legend: readonly (readonly [string, string])[] = [
    ['a b c', 'a letter in a bar: memory held by the model with that letter in the list'],
    [glyphs.reserved, 'reserved for a model that is being loaded (reserved, resv, r)'],
    [glyphs.releasing, 'on its way back: the model has ended, its memory is not free yet; counts as held (held, h)'],
    [glyphs.external, 'external: held by programs that are not ours (external, ext, x)'],
    [glyphs.free, 'free (free, f); the four numbers add up to the total'],
    [glyphs.margin, 'the margin: what lies right of it is kept free'],
    [
      'GiB min/used',
      'what a model needs of its devices, as far as is known, and is seen to hold there; ~ is an estimate',
    ],
    ['HOST', 'what it holds of system memory besides, in GiB'],
    ['* B', 'pinned; blocked'],
    ['Queue', 'models that are waited for and not ready yet, the next one first; w tells why'],
    ['Measure queue', 'models whose need of memory is being found out, one at a time, without serving them'],
    ['#3', 'the number of a decision; / with #3 finds it'],
    ['SILENT 7s', 'the supervisor is connected, but nothing has come from it for so long'],
  ];
  return [
    [span('Signs', 'strong')],
    ...legend.map(([sign, meaning]): Row => [span('  '), span(sign.padEnd(15), 'accent'), span(meaning)]),
  ];
}
