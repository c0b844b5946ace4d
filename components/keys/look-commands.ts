import { closePage, nextSort, openPage, say } from '../../src/store/screen-store.js';
import { selectedId, type ScreenView } from '../view.js';
import type { Command } from './command.js';
import { targetModel, whySubject } from './targets.js';

const always = (): boolean => true;

/** The name of the device whose row is selected, or null. */
function selectedDevice(view: ScreenView): string | null {
  return view.screen.focus === 'devices' ? selectedId(view.lists, view.screen, 'devices') : null;
}

/** What can be looked at, and how the lists are shown. */
export const LOOK_COMMANDS: readonly Command[] = [
  {
    name: 'why',
    keys: ['w'],
    group: 'look',
    help: 'why: the record of a decision, why a model is (not) loaded, why a device is full',
    hint: 'why',
    acts: false,
    available: (view) => whySubject(view) !== null,
    run: (context, view) => {
      const subject = whySubject(view);
      if (subject !== null) openPage(context.screen, { kind: 'why', subject });
    },
  },
  {
    name: 'detail',
    keys: ['return'],
    group: 'look',
    help: 'open the selected row: all about a model, a decision or a device',
    hint: 'detail',
    acts: false,
    available: (view) => view.screen.page === null && (targetModel(view) !== null || selectedDevice(view) !== null),
    run: (context, view) => {
      const device = selectedDevice(view);
      const subject = whySubject(view);
      const model = targetModel(view);
      if (device !== null) openPage(context.screen, { kind: 'why', subject: { kind: 'device', device } });
      else if (subject?.kind === 'decision') openPage(context.screen, { kind: 'why', subject });
      else if (model !== null) openPage(context.screen, { kind: 'detail', model });
    },
  },
  {
    name: 'logs',
    keys: ['L'],
    group: 'look',
    help: 'the last lines that the model has written',
    hint: 'logs',
    acts: false,
    available: (view) => targetModel(view) !== null,
    run: (context, view) => {
      const model = targetModel(view);
      if (model !== null) openPage(context.screen, { kind: 'logs', model });
    },
  },
  {
    name: 'filter',
    keys: ['/'],
    group: 'look',
    help: 'show only rows with these words; !word shows those without it',
    hint: 'filter',
    acts: false,
    available: (view) => view.screen.page === null,
    run: (context) => {
      const { filter } = context.screen.getState();
      context.screen.setState({ input: { kind: 'filter', text: filter, before: filter } });
    },
  },
  {
    name: 'sort',
    keys: ['o'],
    group: 'look',
    help: 'order the models by catalog, name, state, memory or idle time',
    hint: 'sort',
    acts: false,
    available: (view) => view.screen.page === null,
    run: (context) => say(context.screen, 'plain', `models ordered by ${nextSort(context.screen)}`),
  },
  {
    name: 'zoom',
    keys: ['z'],
    group: 'look',
    help: 'give all rows to the focused pane; again to go back',
    hint: null,
    acts: false,
    available: (view) => view.screen.page === null,
    run: (context) => context.screen.setState((state) => ({ zoom: !state.zoom })),
  },
  {
    name: 'freeze',
    keys: ['space'],
    group: 'look',
    help: 'freeze the view; again to go on',
    hint: null,
    acts: false,
    available: always,
    run: (context, view) =>
      context.screen.setState((state) => ({
        frozen: state.frozen === null ? { snapshot: view.snapshot, now: view.now } : null,
      })),
  },
  {
    name: 'help',
    keys: ['?'],
    group: 'screen',
    help: 'this list of keys',
    hint: null,
    acts: false,
    available: always,
    run: (context) => openPage(context.screen, { kind: 'help' }),
  },
  {
    name: 'back',
    keys: ['escape'],
    group: 'screen',
    help: 'close the page, then the zoom, then drop the filter',
    hint: null,
    acts: false,
    available: always,
    run: (context) => {
      const { page, zoom, filter } = context.screen.getState();
      if (page !== null) closePage(context.screen);
      else if (zoom) context.screen.setState({ zoom: false });
      else if (filter !== '') context.screen.setState({ filter: '' });
      else context.screen.setState({ message: null });
    },
  },
];
