import { openDialog, openPage, say } from '../../src/store/screen-store.js';
import { requestsOf, selectedRequest } from '../panes/requests.js';
import type { ScreenView } from '../view.js';
import { actOn } from './act-on.js';
import type { Command, CommandContext } from './command.js';
import { targetModel } from './targets.js';

/**
 * On the pages of a model `c` is about one request: in their list about the one that is selected, on the other pages it
 * opens the list. False where it is about all of them.
 */
export function cancelsOne(context: CommandContext, view: ScreenView, model: string): boolean {
  const { page } = view.screen;
  if (page === null || view.snapshot.requests === undefined) return false;
  if (page.kind !== 'requests') {
    openPage(context.screen, { kind: 'requests', model, selected: null });
    return true;
  }
  const request = selectedRequest(view, page);
  if (request === null) {
    say(context.screen, 'plain', 'the request that was selected has ended; j and k select another one');
  } else if (request.waiting) {
    leaveRequest(context, view, request.id);
    actOn(context, 'cancel', model, request.id);
  } else openDialog(context.screen, { kind: 'confirm', action: 'cancel', model, request: request.id });
  return true;
}

/** Selects the request after one that is being cancelled, or the one before the last: somebody may want to go on. */
export function leaveRequest(context: CommandContext, view: ScreenView, id: string): void {
  const { page } = context.screen.getState();
  if (page?.kind !== 'requests') return;
  const open = requestsOf(view, page.model);
  const at = open.findIndex((request) => request.id === id);
  context.screen.setState({ page: { ...page, selected: (open[at + 1] ?? open[at - 1])?.id ?? null } });
}

/** Moves the selection in the list of requests; from one that has ended it goes to the first. */
export function moveRequest(context: CommandContext, view: ScreenView, by: number): void {
  const { page } = context.screen.getState();
  if (page?.kind !== 'requests') return;
  const open = requestsOf(view, page.model);
  const chosen = selectedRequest(view, page);
  const from = chosen === null ? 0 : open.indexOf(chosen) + by;
  const wanted = open[Math.max(0, Math.min(open.length - 1, from))];
  context.screen.setState({ page: { ...page, selected: wanted?.id ?? null } });
}

/** Who waits for a model and who is being answered. */
export const REQUEST_COMMANDS: readonly Command[] = [
  {
    name: 'requests',
    keys: ['r'],
    group: 'look',
    help: 'the requests for the model, waiting and being answered; c there cancels the one that is selected',
    hint: null,
    acts: false,
    needs: 'cancel',
    takes: 'model',
    available: (view) => targetModel(view) !== null && view.screen.page?.kind !== 'requests',
    run: (context, view) => {
      const model = targetModel(view);
      if (model !== null) openPage(context.screen, { kind: 'requests', model, selected: null });
    },
  },
];
