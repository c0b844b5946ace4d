import { openDialog, say } from '../../src/store/screen-store.js';
import { isTooSmall } from '../layout/allot.js';
import { questionOf, type Answer } from '../layout/dialog.js';
import { withoutLastCharacter } from '../text/width.js';
import type { ScreenView } from '../view.js';
import type { Command, CommandContext } from './command.js';
import { commandForKey, commandForName } from './commands.js';
import { typedText } from './key-names.js';

/** Does what a key stands for: an open question has the keys first, then a line being typed, then the commands. */
export function dispatchKey(context: CommandContext, key: string): void {
  const view = context.view();
  if (view === null) {
    if (key === 'q' || key === 'ctrl+c' || key === 'escape') context.answer('leave', null);
    return;
  }
  if (view.screen.dialog !== null) return answerDialog(context, view, key);
  if (view.screen.input !== null) return typeKey(context, view, key);
  const command = commandForKey(key);
  // Nobody should do blindly what the screen is too small to show.
  if (isTooSmall(view.screen.viewport) && command?.name !== 'quit') return;
  if (command !== null) runCommand(context, view, command, key);
}

/** What was pasted: text for a line being typed, and nothing anywhere else, least of all commands. */
export function dispatchPaste(context: CommandContext, text: string): void {
  const { input } = context.screen.getState();
  if (input !== null) setInput(context, input.text + text.replace(/\s+/g, ' '));
}

function runCommand(context: CommandContext, view: ScreenView, command: Command, key: string | null): void {
  if (command.acts && view.options.readOnly) say(context.screen, 'plain', 'this screen is read-only');
  else if (command.available(view)) command.run(context, view, key);
  else if (command.acts || command.group === 'look') say(context.screen, 'plain', `${command.name} does nothing here`);
}

function answerDialog(context: CommandContext, view: ScreenView, key: string): void {
  const { dialog } = view.screen;
  if (dialog === null) return;
  const answer = answerOf(key, questionOf(dialog, view).choices, dialog.kind, view);
  if (answer === null) return;
  openDialog(context.screen, null);
  if (answer !== 'cancel') context.answer(answer, dialog);
}

function answerOf(
  key: string,
  choices: ReturnType<typeof questionOf>['choices'],
  dialog: 'leave' | 'confirm',
  view: ScreenView,
): Answer | null {
  switch (key) {
    case 'return':
      return choices[0]?.answer ?? null;
    case 'n':
      return 'cancel';
    case 'ctrl+c':
      // Twice stops what this screen has started; what was there before it stays.
      if (dialog === 'confirm') return 'cancel';
      return view.options.ownsSupervisor ? 'stop-all' : 'leave';
    default:
      return choices.find((choice) => choice.key === key)?.answer ?? null;
  }
}

function typeKey(context: CommandContext, view: ScreenView, key: string): void {
  const { input } = context.screen.getState();
  if (input === null) return;
  switch (key) {
    case 'escape':
    case 'ctrl+c':
      context.screen.setState(input.kind === 'filter' ? { input: null, filter: input.before } : { input: null });
      return;
    case 'return':
      context.screen.setState({ input: null });
      if (input.kind === 'command') runTyped(context, view, input.text.trim());
      return;
    case 'backspace':
      return setInput(context, withoutLastCharacter(input.text));
    case 'ctrl+u':
      return setInput(context, '');
    default: {
      const typed = typedText(key);
      if (typed !== null) setInput(context, input.text + typed);
    }
  }
}

function setInput(context: CommandContext, text: string): void {
  const { input } = context.screen.getState();
  if (input === null) return;
  // A filter shows at once what it leaves.
  context.screen.setState(
    input.kind === 'filter' ? { input: { ...input, text }, filter: text } : { input: { ...input, text } },
  );
}

function runTyped(context: CommandContext, view: ScreenView, name: string): void {
  if (name === '') return;
  const command = commandForName(name);
  if (command === null) say(context.screen, 'bad', `no command is called "${name}"; ? lists them`);
  else runCommand(context, { ...view, screen: context.screen.getState() }, command, null);
}
