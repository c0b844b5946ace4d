import { changeRefresh, openPage, say, select } from '../../src/store/screen-store.js';
import { rateText } from '../text/format.js';
import { selectedIndex, type ScreenView } from '../view.js';
import type { Command, CommandContext } from './command.js';

/** Once the view is frozen, what happens does not change it until it is let go. */
function freeze(context: CommandContext, view: ScreenView): void {
  context.screen.setState((state) => ({
    frozen: state.frozen === null ? { snapshot: view.snapshot, now: view.now, logTail: state.logTail } : null,
  }));
}

/**
 * To another decision. A recording goes to that moment as a whole; what happens now shows the record, which has the
 * ledger of its moment.
 */
function stepDecision(context: CommandContext, view: ScreenView, by: 1 | -1): void {
  const { recording } = context.client;
  if (recording !== null) {
    // The newest decision of that moment is the one that was stepped to.
    select(context.screen, 'decisions', null);
    return recording.step(by);
  }
  const { page } = view.screen;
  const { decisions } = view.lists;
  const open = page?.kind === 'why' && page.subject.kind === 'decision' ? page.subject.number : null;
  const index =
    open === null
      ? selectedIndex(view.lists, view.screen, 'decisions')
      : decisions.findIndex(({ number }) => number === open);
  // Newest first: the one before stands below. The first step opens the one that is selected.
  const next = decisions[open === null ? Math.max(0, index) : index - by];
  if (next === undefined) return say(context.screen, 'plain', `there is no ${by === 1 ? 'newer' : 'older'} decision`);
  select(context.screen, 'decisions', String(next.number));
  openPage(context.screen, { kind: 'why', subject: { kind: 'decision', number: next.number } });
}

function step(name: string, key: string, by: 1 | -1, help: string): Command {
  return {
    name,
    keys: [key],
    group: 'look',
    help,
    hint: null,
    acts: false,
    needs: null,
    takes: null,
    available: (view) => view.position !== null || view.snapshot.decisions.length > 0,
    run: (context, view) => stepDecision(context, view, by),
  };
}

function refresh(name: string, keys: readonly string[], by: 1 | -1, help: string): Command {
  return {
    name,
    keys,
    group: 'screen',
    help,
    hint: null,
    acts: false,
    needs: null,
    takes: null,
    available: (view) => view.position === null,
    run: (context) => {
      say(context.screen, 'plain', `figures are drawn every ${rateText(changeRefresh(context.screen, by))}`);
    },
  };
}

/** What has to do with time: how fast it goes by, whether it stands still, and going back in it. */
export const TIME_COMMANDS: readonly Command[] = [
  {
    name: 'freeze',
    keys: ['space'],
    group: 'look',
    help: 'freeze the view, again to go on; a recording plays, or stands still',
    hint: null,
    acts: false,
    needs: null,
    takes: null,
    available: () => true,
    run: (context, view) => {
      if (context.client.recording === null) freeze(context, view);
      else context.client.recording.togglePlaying();
    },
  },
  step('older', '[', -1, 'the decision before: its record, and in a recording everything as it was then'),
  step('newer', ']', 1, 'the decision after it'),
  refresh('faster', ['+', '='], 1, 'draw figures more often'),
  refresh('slower', ['-'], -1, 'draw figures less often'),
];
