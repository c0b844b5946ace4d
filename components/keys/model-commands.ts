import type { Ability, ModelView, OperatorAction } from '../../src/client/types.js';
import { openDialog, openPage } from '../../src/store/screen-store.js';
import type { ScreenView } from '../view.js';
import { actOn } from './act-on.js';
import type { Command, CommandContext, Invocation } from './command.js';
import { reload } from './reload.js';
import { cancelsOne } from './request-commands.js';
import { targetModel, targetModelView } from './targets.js';

interface ActionText {
  readonly name: Ability & OperatorAction;
  /** Null: it can only be typed. */
  readonly key: string | null;
  readonly hint: string | null;
  readonly help: string;
  readonly otherwise?: string;
}

function action(
  { name, key, ...texts }: ActionText,
  possible: (model: ModelView, view: ScreenView) => boolean,
  run: (context: CommandContext, model: ModelView, how: Invocation, view: ScreenView) => void,
): Command {
  return {
    name,
    keys: key === null ? [] : [key],
    group: 'models',
    ...texts,
    acts: true,
    needs: name,
    takes: 'model',
    asks: true,
    available: (view) => {
      const model = targetModelView(view);
      return model !== null && possible(model, view);
    },
    run: (context, view, how) => {
      const model = targetModelView(view);
      if (model !== null) run(context, model, how, view);
    },
  };
}

/** It is to be loaded, be it that somebody waits for it or not. */
const isQueued = (view: ScreenView, model: ModelView): boolean =>
  view.snapshot.queue.some((entry) => entry.model === model.id);

const isLoaded = (model: ModelView): boolean => model.generation !== null;

const isAsleep = ({ word }: ModelView): boolean => word === 'sleeping' || word === 'parked';

const always = (): boolean => true;

/** Takes the name of what is done from what was typed, and for a key from what makes sense of the two. */
function toggle(how: Invocation, typed: OperatorAction, otherwise: OperatorAction, isSet: boolean): OperatorAction {
  return how.key === null || !isSet ? typed : otherwise;
}

/** What can be done to a model. */
export const MODEL_COMMANDS: readonly Command[] = [
  action(
    { name: 'load', key: 'l', hint: 'load', help: 'load the model, making room as the scheduler sees fit' },
    (model) => !isLoaded(model) || model.word === 'stopping',
    (context, model) => actOn(context, 'load', model.id),
  ),
  action(
    { name: 'unload', key: 'u', hint: 'unload', help: 'unload the model once its requests have ended' },
    (model, view) => isLoaded(model) || isQueued(view, model),
    (context, model) => {
      if (model.requests > 0) openDialog(context.screen, { kind: 'confirm', action: 'unload', model: model.id });
      else actOn(context, 'unload', model.id);
    },
  ),
  action(
    { name: 'kill', key: 'U', hint: 'kill', help: 'kill the model at once; asks first' },
    isLoaded,
    (context, model) => openDialog(context.screen, { kind: 'confirm', action: 'kill', model: model.id }),
  ),
  action(
    {
      name: 'cancel',
      key: 'c',
      hint: 'cancel',
      help: 'cancel the requests for the model, or the one that is selected in their list; asks before it cuts off answers',
      otherwise: 'cancel does nothing: the model has no requests',
    },
    (model, view) => model.requests > 0 || isQueued(view, model),
    (context, model, how, view) => {
      if (how.key !== null && cancelsOne(context, view, model.id)) return;
      if (model.requests > 0) openDialog(context.screen, { kind: 'confirm', action: 'cancel', model: model.id });
      else actOn(context, 'cancel', model.id);
    },
  ),
  action(
    { name: 'pin', key: 'p', hint: 'pin', help: 'pin the model: loads it, and it is never evicted; again to unpin' },
    always,
    (context, model, how) => actOn(context, toggle(how, 'pin', 'unpin', model.pinned), model.id),
  ),
  action({ name: 'unpin', key: null, hint: null, help: 'let the model be evicted again' }, always, (context, model) =>
    actOn(context, 'unpin', model.id),
  ),
  action(
    { name: 'block', key: 'b', hint: 'block', help: 'block the model from being loaded; again to allow it' },
    always,
    (context, model, how) => actOn(context, toggle(how, 'block', 'unblock', model.blocked), model.id),
  ),
  action(
    { name: 'unblock', key: null, hint: null, help: 'allow the model to be loaded again' },
    always,
    (context, model) => actOn(context, 'unblock', model.id),
  ),
  action(
    {
      name: 'park',
      key: 's',
      hint: 'park/wake',
      help: 'park: put the idle model to sleep, out of memory; again to wake it',
    },
    (model) => model.word === 'ready' || isAsleep(model),
    (context, model, how) => actOn(context, toggle(how, 'park', 'wake', isAsleep(model)), model.id),
  ),
  action({ name: 'wake', key: null, hint: null, help: 'bring a sleeping model back' }, always, (context, model) =>
    actOn(context, 'wake', model.id),
  ),
  action(
    { name: 'measure', key: 'm', hint: 'measure', help: 'measure again what the model needs, without loading it' },
    (model) => model.memory.status !== 'measuring' && model.invalid === null,
    (context, model) => actOn(context, 'measure', model.id),
  ),
  {
    name: 'reload',
    keys: ['R'],
    group: 'models',
    help: 'reload the catalog: read all sources of models again',
    hint: null,
    acts: true,
    needs: 'reload',
    takes: null,
    asks: true,
    available: always,
    run: reload,
  },
  {
    name: 'plan',
    keys: ['P'],
    group: 'look',
    help: 'plan: what would loading this model do? Changes nothing',
    hint: 'plan',
    acts: false,
    needs: 'plan',
    takes: 'model',
    asks: true,
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
