import { say, type LineInput } from '../../src/store/screen-store.js';
import { gridColumns } from '../layout/choices-sheet.js';
import { withoutLastCharacter } from '../text/width.js';
import type { ScreenView } from '../view.js';
import type { CommandContext } from './command.js';
import { COMMANDS } from './commands.js';
import { typedText } from './key-names.js';
import { complete, completions, whatIsOpen, whyNoCompletion } from './palette.js';

/** What a key does to a line that is being typed; Enter is for whoever knows what the line is for. */
export function typeKey(context: CommandContext, view: ScreenView, key: string): void {
  const { input } = context.screen.getState();
  if (input === null) return;
  switch (key) {
    case 'escape':
    case 'ctrl+c':
      context.screen.setState(input.kind === 'filter' ? { input: null, filter: input.before } : { input: null });
      return;
    case 'backspace':
      return setInput(context, withoutLastCharacter(input.text));
    case 'ctrl+u':
      return setInput(context, '');
    case 'ctrl+w':
      return setInput(context, input.text.replace(/\S+\s*$/u, ''));
    default: {
      if (input.kind === 'command' && commandKey(context, view, input, key)) return;
      const typed = typedText(key);
      if (typed !== null) setInput(context, input.text + typed);
    }
  }
}

/** Gives the line another text, which is no longer one that was brought back, or chosen. */
export function setInput(context: CommandContext, text: string): void {
  const { input } = context.screen.getState();
  if (input === null) return;
  const { recall: _, listed: __, ...line } = input;
  const before = input.recall === undefined ? input.before : '';
  // A filter shows at once what it leaves.
  context.screen.setState(
    input.kind === 'filter'
      ? { input: { ...line, text }, filter: text }
      : { input: { ...line, text, before }, message: null },
  );
}

/** The keys that complete a command, choose one, or bring one back; false: it is none of them. */
function commandKey(context: CommandContext, view: ScreenView, input: LineInput, key: string): boolean {
  const { listed } = input;
  switch (key) {
    case 'tab':
      if (listed === undefined) completeInput(context, view, input);
      else choose(context, view, input, 1);
      return true;
    case 'shift+tab':
    case 'left':
      choose(context, view, input, -1);
      return true;
    case 'right':
      choose(context, view, input, 1);
      return true;
    case 'up':
    case 'down': {
      const by = key === 'up' ? -1 : 1;
      if (listed === undefined) recall(context, input, -by as 1 | -1);
      else choose(context, view, input, by * columnsOf(view, listed.of));
      return true;
    }
    default:
      return false;
  }
}

/** Adds what is sure; where nothing is, lists what may follow, for the next Tab to choose from. */
function completeInput(context: CommandContext, view: ScreenView, { text }: LineInput): void {
  const why = whyNoCompletion(text, COMMANDS, view);
  const completed = complete(text, COMMANDS, view);
  setInput(context, completed);
  if (why !== null) return say(context.screen, 'bad', why);
  const { input } = context.screen.getState();
  if (completed === text && input !== null && completions(text, COMMANDS, view).length > 1)
    context.screen.setState({ input: { ...input, listed: { of: text, at: null } } });
}

/** Puts another one of those that are listed into the line; beyond an end it goes on at the other one. */
function choose(context: CommandContext, view: ScreenView, input: LineInput, by: number): void {
  const { listed } = input;
  if (listed === undefined) return;
  const all = completions(listed.of, COMMANDS, view);
  if (all.length === 0) return;
  const wanted = listed.at === null ? (by < 0 ? -1 : 0) : listed.at + by;
  const at = ((wanted % all.length) + all.length) % all.length;
  context.screen.setState({ input: { ...input, text: all[at] ?? listed.of, listed: { ...listed, at } } });
}

function columnsOf(view: ScreenView, typed: string): number {
  const labels = completions(typed, COMMANDS, view).map((line) => whatIsOpen(line, typed));
  return gridColumns(labels, view.screen.viewport.columns);
}

/** Goes back in what was typed before, and on again to what is being typed, which is kept meanwhile. */
function recall(context: CommandContext, input: LineInput, by: 1 | -1): void {
  const { history } = context.screen.getState();
  const at = (input.recall ?? 0) + by;
  if (at < 0 || at > history.length) return;
  const before = input.recall === undefined ? input.text : input.before;
  const { recall: _, ...line } = input;
  context.screen.setState({
    input:
      at === 0
        ? { ...line, text: before, before: '' }
        : { ...line, text: history[history.length - at] ?? '', before, recall: at },
  });
}
