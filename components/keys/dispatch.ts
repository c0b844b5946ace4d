import { openDialog, rememberCommand, say, type Dialog, type LineInput } from '../../src/store/screen-store.js';
import { isTooSmall } from '../layout/allot.js';
import { questionOf, type Answer } from '../layout/dialog.js';
import { isLost, nobodyThere } from '../text/last-known.js';
import { listIds, offers, selectedId, type ScreenView } from '../view.js';
import type { Ability, OperatorAction } from '../../src/client/types.js';
import type { Command, CommandContext, Invocation } from './command.js';
import { COMMANDS, commandForKey } from './commands.js';
import { keyLabel } from './key-names.js';
import { setInput, typeKey } from './line-keys.js';
import { targetModelView } from './targets.js';
import { actOn } from './act-on.js';
import { searchLog } from './log-commands.js';
import { leaveRequest } from './request-commands.js';
import { understand, whyNotHere } from './palette.js';

/** Does what a key stands for: an open question has the keys first, then a line being typed, then the commands. */
export function dispatchKey(context: CommandContext, key: string): void {
  const view = context.view();
  if (view === null) {
    if (key === 'q' || key === 'ctrl+c' || key === 'escape') context.answer('leave', null);
    if (key === 'a') context.answer('start-again', null);
    return;
  }
  if (view.screen.dialog !== null) return answerDialog(context, view, key);
  const { input } = view.screen;
  if (input !== null) return key === 'return' ? runLine(context, view, input) : typeKey(context, view, key);
  const command = commandForKey(key);
  // Nobody should do blindly what the screen is too small to show.
  if (isTooSmall(view.screen.viewport) && command?.name !== 'quit')
    say(context.screen, 'plain', `${keyLabel(key)} does nothing on so small a screen; q leaves`);
  else if (command !== null) runCommand(context, view, command, { key, argument: null });
  else say(context.screen, 'plain', `${keyLabel(key)} is no key here; ? lists them`);
}

/** What was pasted: text for a line being typed, and nothing anywhere else, least of all commands. */
export function dispatchPaste(context: CommandContext, text: string): void {
  const { input } = context.screen.getState();
  if (input !== null) setInput(context, input.text + text.replace(/\s+/g, ' '));
}

function runCommand(context: CommandContext, view: ScreenView, command: Command, how: Invocation): void {
  if (!offers(view, command.needs, command.acts)) say(context.screen, 'plain', whyNotHere(command, view));
  else if (command.asks === true && isLost(view)) say(context.screen, 'bad', `${command.name}: ${nobodyThere(view)}`);
  else if (command.available(view)) command.run(context, view, how);
  else if (how.key === null && view.named !== null && isHarmless(command.needs)) {
    // Who types a name wants to know why not, and the supervisor knows best.
    actOn(context, command.needs, view.named);
  } else if (command.acts || command.group === 'look') say(context.screen, 'plain', whyNothing(command, view));
}

/** Why a command would do nothing now. */
function whyNothing({ name, group, otherwise }: Command, view: ScreenView): string {
  if (otherwise !== undefined) return otherwise;
  const { focus, page } = view.screen;
  if (view.named === null && page === null && selectedId(view.lists, view.screen, focus) === null)
    return `${name} does nothing: no row is selected${listIds(view.lists, focus).length === 0 ? ', there is none' : ''}`;
  const model = group === 'models' ? targetModelView(view) : null;
  return model === null ? `${name} does nothing here` : `${name} does nothing: the model is ${model.word}`;
}

/** What destroys nothing, should it be possible after all. */
function isHarmless(needs: Ability | null): needs is Exclude<OperatorAction, 'unload' | 'kill' | 'cancel'> {
  switch (needs) {
    case 'load':
    case 'withdraw':
    case 'pin':
    case 'unpin':
    case 'block':
    case 'unblock':
    case 'measure':
    case 'park':
    case 'wake':
      return true;
    case 'unload':
    case 'kill':
    case 'cancel':
    case 'reload':
    case 'plan':
    case 'logs':
    case 'stop':
    case 'detach':
    case null:
      return false;
  }
}

function answerDialog(context: CommandContext, view: ScreenView, key: string): void {
  const { dialog } = view.screen;
  if (dialog === null) return;
  const answer = answerOf(key, questionOf(dialog, view).choices, dialog.kind, view);
  if (answer === null) return say(context.screen, 'plain', `${keyLabel(key)} is no answer here`);
  openDialog(context.screen, null);
  // It may have been asked while there was still somebody to do it.
  if (answer === 'confirm' && isLost(view)) say(context.screen, 'bad', nobodyThere(view));
  else if (answer !== 'cancel') {
    if (dialog.kind === 'confirm' && dialog.request !== undefined) leaveRequest(context, view, dialog.request);
    context.answer(answer, dialog);
  }
}

function answerOf(
  key: string,
  choices: ReturnType<typeof questionOf>['choices'],
  dialog: Dialog['kind'],
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
      return view.options.ownsSupervisor && dialog === 'leave' ? 'stop-all' : 'leave';
    default:
      return choices.find((choice) => choice.key === key || choice.alsoKey === key)?.answer ?? null;
  }
}

/** Does what a typed line is for. */
function runLine(context: CommandContext, view: ScreenView, { kind, text }: LineInput): void {
  context.screen.setState({ input: null });
  if (kind === 'command') runTyped(context, view, text.trim());
  if (kind === 'search') searchLog(context, view, text);
}

function runTyped(context: CommandContext, view: ScreenView, line: string): void {
  if (line === '') return;
  rememberCommand(context.screen, line);
  const typed = understand(line, COMMANDS, view);
  if ('problem' in typed) return say(context.screen, 'bad', typed.problem);
  const { command, argument, named } = typed;
  runCommand(context, { ...view, named, screen: context.screen.getState() }, command, { key: null, argument });
}
