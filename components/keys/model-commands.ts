import type { Millis, ModelView, OperatorAction } from '../../src/client/types.js';
import { openDialog, openPage, say } from '../../src/store/screen-store.js';
import { cleanText } from '../text/clean.js';
import { withoutName } from '../text/format.js';
import { cutMiddle } from '../text/width.js';
import type { Command, CommandContext } from './command.js';
import { targetModel, targetModelView } from './targets.js';

/** A name that is longer would leave no room for what is to be said of it. */
const NAME_CELLS = 18;

/** An answer that takes longer than this is worth a word. */
const ANSWER_MILLIS: Millis = 2_000;

/** Tells the supervisor to do something to a model, and the user how it went; also that there is no answer. */
export function actOn(context: CommandContext, action: OperatorAction, model: string): void {
  const what = `${action} ${cutMiddle(cleanText(model), NAME_CELLS, context.options.glyphs.cut)}`;
  const waiting = setTimeout(() => {
    say(context.screen, 'bad', `${what}: no answer yet`, Infinity);
  }, ANSWER_MILLIS);
  void context.client.act(action, model).then((result) => {
    clearTimeout(waiting);
    if (result.ok) say(context.screen, 'good', `${what}: accepted`);
    else say(context.screen, 'bad', `${what}: ${withoutName(result.message, model)}`);
  });
}

function action(
  name: OperatorAction,
  key: string,
  hint: string,
  help: string,
  possible: (model: ModelView) => boolean,
  run: (context: CommandContext, model: ModelView) => void,
): Command {
  return {
    name,
    keys: [key],
    group: 'models',
    help,
    hint,
    acts: true,
    available: (view) => {
      const model = targetModelView(view);
      return model !== null && possible(model);
    },
    run: (context, view) => {
      const model = targetModelView(view);
      if (model !== null) run(context, model);
    },
  };
}

const isLoaded = (model: ModelView): boolean => model.generation !== null;

/** What can be done to a model. */
export const MODEL_COMMANDS: readonly Command[] = [
  action(
    'load',
    'l',
    'load',
    'load the model, making room as the scheduler sees fit',
    (model) => !isLoaded(model) || model.word === 'stopping',
    (context, model) => actOn(context, 'load', model.id),
  ),
  action('unload', 'u', 'unload', 'unload the model once its requests have ended', isLoaded, (context, model) => {
    if (model.requests > 0) openDialog(context.screen, { kind: 'confirm', action: 'unload', model: model.id });
    else actOn(context, 'unload', model.id);
  }),
  action('kill', 'U', 'kill', 'kill the model at once; asks first', isLoaded, (context, model) =>
    openDialog(context.screen, { kind: 'confirm', action: 'kill', model: model.id }),
  ),
  action(
    'pin',
    'p',
    'pin',
    'pin the model: loads it, and it is never evicted; again to unpin',
    () => true,
    (context, model) => actOn(context, model.pinned ? 'unpin' : 'pin', model.id),
  ),
  action(
    'block',
    'b',
    'block',
    'block the model from being loaded; again to allow it',
    () => true,
    (context, model) => actOn(context, model.blocked ? 'unblock' : 'block', model.id),
  ),
  action(
    'measure',
    'm',
    'measure',
    'measure again what the model needs, without loading it',
    (model) => model.memory.status !== 'measuring' && model.invalid === null,
    (context, model) => actOn(context, 'measure', model.id),
  ),
  {
    name: 'plan',
    keys: ['P'],
    group: 'look',
    help: 'plan: what would loading this model do? Changes nothing',
    hint: 'plan',
    acts: false,
    available: (view) => targetModelView(view) !== null,
    run: (context, view) => {
      const model = targetModel(view);
      if (model === null) return;
      openPage(context.screen, { kind: 'plan', model, plan: null, error: null });
      const answer = (page: {
        plan: Awaited<ReturnType<typeof context.client.plan>> | null;
        error: string | null;
      }): void => {
        const open = context.screen.getState().page;
        // The user may have gone on meanwhile.
        if (open?.kind === 'plan' && open.model === model) context.screen.setState({ page: { ...open, ...page } });
      };
      context.client.plan(model).then(
        (plan) => answer({ plan, error: null }),
        (error: unknown) => answer({ plan: null, error: error instanceof Error ? error.message : String(error) }),
      );
    },
  },
];
