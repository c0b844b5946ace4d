import { closePage, nextSort, nextTheme, openPage, say, SORTS, THEMES } from '../../src/store/screen-store.js';
import { reportAfter, reportsOf } from '../panes/out-of-memory.js';
import { selectedId, type ScreenView } from '../view.js';
import type { Command } from './command.js';
import { searchLog } from './log-commands.js';
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
    needs: null,
    takes: 'model',
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
    needs: null,
    takes: 'model',
    available: (view) =>
      view.named !== null ||
      (view.screen.page === null && (targetModel(view) !== null || selectedDevice(view) !== null)),
    run: (context, view) => {
      const device = view.named === null ? selectedDevice(view) : null;
      const subject = whySubject(view);
      const model = targetModel(view);
      if (device !== null) openPage(context.screen, { kind: 'why', subject: { kind: 'device', device } });
      else if (subject?.kind === 'decision') openPage(context.screen, { kind: 'why', subject });
      else if (model !== null) openPage(context.screen, { kind: 'detail', model });
    },
  },
  {
    name: 'out-of-memory',
    keys: ['!'],
    group: 'look',
    help: 'how the latest model came to run out of memory, and what would help; again for the one before',
    hint: null,
    acts: false,
    needs: null,
    takes: null,
    otherwise: 'no model has run out of memory lately',
    available: (view) => reportsOf(view.snapshot).length > 0,
    run: (context, view) => {
      const { page } = view.screen;
      const report = reportAfter(view.snapshot, page?.kind === 'out-of-memory' ? page.decision : null);
      if (report === null) return;
      openPage(context.screen, { kind: 'out-of-memory', decision: report.decision });
      context.screen.setState(({ reportSeen }) => ({ reportSeen: Math.max(reportSeen, report.decision) }));
    },
  },
  {
    name: 'notices',
    keys: ['i'],
    group: 'look',
    help: 'all that you should know: surprises in presets with file and line, probes that fail, a lost connection',
    hint: null,
    acts: false,
    needs: null,
    takes: null,
    available: always,
    run: (context) => openPage(context.screen, { kind: 'notices' }),
  },
  {
    name: 'logs',
    keys: ['L'],
    group: 'look',
    help: 'the last lines that the model has written',
    hint: 'logs',
    acts: false,
    needs: 'logs',
    takes: 'model',
    asks: true,
    available: (view) => {
      const { page } = view.screen;
      const model = targetModel(view);
      return model !== null && !(page?.kind === 'logs' && page.model === model);
    },
    run: (context, view) => {
      const model = targetModel(view);
      if (model !== null) openPage(context.screen, { kind: 'logs', model });
    },
  },
  {
    name: 'filter',
    keys: ['/'],
    group: 'look',
    help: 'show only rows with these words, !word those without it; in a log: look for these words',
    hint: 'filter',
    acts: false,
    needs: null,
    takes: 'words',
    available: (view) => view.screen.page === null || view.screen.page.kind === 'logs',
    run: (context, view, { argument }) => {
      const { filter, logView } = context.screen.getState();
      if (view.screen.page !== null) {
        if (argument !== null) searchLog(context, view, argument);
        else context.screen.setState({ input: { kind: 'search', text: '', before: logView.search } });
      } else if (argument !== null) context.screen.setState({ filter: argument });
      else context.screen.setState({ input: { kind: 'filter', text: filter, before: filter } });
    },
  },
  {
    name: 'sort',
    keys: ['o'],
    group: 'look',
    help: 'order the models by catalog, name, state, memory or idle time',
    hint: 'sort',
    acts: false,
    needs: null,
    takes: SORTS,
    available: (view) => view.screen.page === null,
    run: (context, _view, { argument }) => {
      const chosen = SORTS.find((sort) => sort === argument);
      if (chosen !== undefined) context.screen.setState({ sort: chosen });
      say(context.screen, 'plain', `models ordered by ${chosen ?? nextSort(context.screen)}`);
    },
  },
  {
    name: 'theme',
    keys: ['T'],
    group: 'screen',
    help: 'colours for a dark background, for a light one, or none',
    hint: null,
    acts: false,
    needs: null,
    takes: THEMES,
    available: always,
    run: (context, _view, { argument }) => {
      const chosen = THEMES.find((theme) => theme === argument);
      if (chosen !== undefined) context.screen.setState({ theme: chosen });
      const theme = chosen ?? nextTheme(context.screen);
      if (context.options.hasColours) say(context.screen, 'plain', `theme: ${theme}`);
      else say(context.screen, 'plain', 'this screen has no colours: NO_COLOR is set, or the terminal has none');
    },
  },
  {
    name: 'zoom',
    keys: ['z'],
    group: 'look',
    help: 'give all rows to the focused pane; again to go back',
    hint: null,
    acts: false,
    needs: null,
    takes: null,
    available: (view) => view.screen.page === null,
    run: (context) => context.screen.setState((state) => ({ zoom: !state.zoom })),
  },
  {
    name: 'help',
    keys: ['?'],
    group: 'screen',
    help: 'this list of keys',
    hint: null,
    acts: false,
    needs: null,
    takes: null,
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
    needs: null,
    takes: null,
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
