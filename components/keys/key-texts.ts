import type { Page } from '../../src/store/screen-store.js';
import type { Choices, Hint } from '../layout/footer.js';
import type { KeyTexts } from '../layout/frame.js';
import { isLost } from '../text/last-known.js';
import type { ScreenView } from '../view.js';
import { COMMANDS, offeredCommands } from './commands.js';
import { helpPage } from './help-page.js';
import { keyLabel } from './key-names.js';
import { completions, whatIsOpen } from './palette.js';

/** The keys that a page is there for, and how they are called on it; they come first. */
const ON_PAGE: Partial<Record<Page['kind'], Readonly<Record<string, string>>>> = {
  logs: { follow: 'follow', wrap: 'wrap', filter: 'search', copy: 'copy line' },
  requests: { cancel: 'cancel this one' },
};

/** The keys that would do something now, for the last row. */
export function hintsFor(view: ScreenView): readonly Hint[] {
  const back: Hint[] = view.screen.page === null ? [] : [{ key: 'Esc', label: 'back' }];
  const possible = offeredCommands(view).filter(
    (command) =>
      command.hint !== null &&
      command.keys.length > 0 &&
      !(command.asks === true && isLost(view)) &&
      command.available(view),
  );
  const ownKeys = (view.screen.page === null ? null : ON_PAGE[view.screen.page.kind]) ?? {};
  const first = possible.filter(({ name }) => name in ownKeys);
  // And what to do about a supervisor that has ended, before all.
  if (view.ended !== null) first.push(...possible.filter(({ name }) => name === 'start-again'));
  const hints = [...first, ...possible.filter((command) => !first.includes(command))].map((command): Hint => ({
    key: keyLabel(command.keys[0] ?? ''),
    label: ownKeys[command.name] ?? command.hint ?? '',
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
  return { hints: hintsFor(view), choices: choicesFor(view), help: () => helpPage(view) };
}

/** What a command that is being typed may go on with; null: none is typed, or nothing of it yet. */
function choicesFor(view: ScreenView): Choices | null {
  const { input } = view.screen;
  if (input?.kind !== 'command' || (input.text === '' && input.listed === undefined)) return null;
  const { of: typed, at } = input.listed ?? { of: input.text, at: null };
  const all = completions(typed, COMMANDS, view);
  const chosen = at === null ? undefined : all[at];
  return {
    labels: all.map((line) => whatIsOpen(line, typed)),
    at,
    about: COMMANDS.find(({ name }) => name === chosen)?.help ?? chosen ?? null,
    isListed: input.listed !== undefined,
  };
}
