import type { PageContent } from '../panes/page-content.js';
import type { Glyphs } from '../theme/glyphs.js';
import { span, type Row } from '../widgets/row.js';
import type { ScreenView } from '../view.js';
import type { CommandGroup } from './command.js';
import { offeredCommands } from './commands.js';
import { keyLabel } from './key-names.js';

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
    ['REQ 2+3', 'requests that are being answered, and that wait until the model is up'],
    ['WAITING', 'to be loaded as soon as there is room for it: w tells what it waits for'],
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
