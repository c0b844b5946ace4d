import type { Millis, OperatorAction } from '../../src/client/types.js';
import { say } from '../../src/store/screen-store.js';
import { visibleText } from '../text/clean.js';
import { withoutName } from '../text/format.js';
import { cutMiddle } from '../text/width.js';
import type { CommandContext } from './command.js';

/** A name that is longer would leave no room for what is to be said of it. */
const NAME_CELLS = 18;

/** An answer that takes longer than this is worth a word. */
const ANSWER_MILLIS: Millis = 2_000;

/** Tells the supervisor to do something to a model, and the user how it went; also that there is no answer. */
export function actOn(context: CommandContext, action: OperatorAction, model: string, request?: string): void {
  const what = `${action} ${cutMiddle(visibleText(request ?? model), NAME_CELLS, context.options.glyphs.cut)}`;
  const waiting = setTimeout(() => {
    say(context.screen, 'bad', `${what}: no answer yet`, Infinity);
  }, ANSWER_MILLIS);
  void context.client.act(action, model, request).then((result) => {
    clearTimeout(waiting);
    if (result.ok) say(context.screen, 'good', `${what}: accepted`);
    else say(context.screen, 'bad', `${what}: ${withoutName(result.message.replace(`model '${model}' `, ''), model)}`);
  });
}
