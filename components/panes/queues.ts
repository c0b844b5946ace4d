import { durationText } from '../text/format.js';
import { textWidth } from '../text/width.js';
import { cleanText } from '../text/clean.js';
import type { PaneList } from '../widgets/pane.js';
import { span } from '../widgets/row.js';
import { headerRow, tableRow, type Column } from '../widgets/table.js';
import { selectedIndex, type ScreenView } from '../view.js';

/** Who waits for a model, how long already, and what for. */
export function queueList(view: ScreenView, width: number): PaneList {
  const { glyphs } = view.options;
  const inner = width - 2;
  const longest = Math.max(8, ...view.lists.queue.map((entry) => textWidth(cleanText(entry.model))));
  const model = Math.max(6, Math.min(longest, Math.floor(inner / 3)));
  const columns: Column[] = [
    { key: 'position', title: '#', width: 2, align: 'right' },
    { key: 'model', title: 'MODEL', width: model, align: 'left' },
    { key: 'wait', title: 'WAIT', width: 4, align: 'right' },
    { key: 'why', title: 'WHY', width: Math.max(4, inner - model - 9), align: 'left' },
  ];
  return {
    title: view.snapshot.queue.length === 0 ? 'Queue' : `Queue (${view.snapshot.queue.length})`,
    header: headerRow(columns, glyphs.cut),
    rows: view.lists.queue.map((entry) =>
      tableRow(
        columns,
        {
          position: { text: String(entry.position) },
          model: { text: entry.model },
          wait: { text: durationText(view.now - entry.since) },
          why: { text: entry.waiters > 1 ? `${entry.waiters} wait: ${entry.why}` : entry.why },
        },
        glyphs.cut,
      ),
    ),
    empty: [view.snapshot.queue.length === 0 ? 'nobody waits' : 'nothing here matches the filter'],
    selected: selectedIndex(view.lists, view.screen, 'queue'),
  };
}

/** Models whose needs are to be measured; the first one with how long that has been going on. */
export function measureList(view: ScreenView): PaneList {
  const { measureQueue, measuringSince } = view.snapshot;
  const running = (model: string): string =>
    measuringSince === null || model !== measureQueue[0] ? '' : `running ${durationText(view.now - measuringSince)}`;
  const waiting = view.snapshot.measureQueue.length;
  return {
    title: waiting === 0 ? 'Measure queue' : `Measure queue (${waiting})`,
    header: null,
    rows: view.lists.measure.map((model) => {
      const state = running(model);
      return state === '' ? [span(model)] : [span(`${model}  `), span(state, 'dim')];
    }),
    empty: [waiting === 0 ? 'nothing to measure' : 'nothing here matches the filter'],
    selected: selectedIndex(view.lists, view.screen, 'measure'),
  };
}
