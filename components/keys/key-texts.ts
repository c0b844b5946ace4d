import type { Page } from '../../src/store/screen-store.js';
import type { Hint } from '../layout/footer.js';
import type { KeyTexts } from '../layout/frame.js';
import { isLost } from '../text/last-known.js';
import type { ScreenView } from '../view.js';
import { COMMANDS, offeredCommands } from './commands.js';
import { helpPage } from './help-page.js';
import { keyLabel } from './key-names.js';
import { completions } from './palette.js';

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
