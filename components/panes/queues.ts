import type { QueueView } from '../../src/client/types.js';
import { durationText, withoutName } from '../text/format.js';
import { cutMiddle, textWidth } from '../text/width.js';
import { visibleText } from '../text/clean.js';
import type { PaneList } from '../widgets/pane.js';
import { rowWidth, span, wrapRow, type Row } from '../widgets/row.js';
import { headerRow, tableRow, type Column } from '../widgets/table.js';
import { selectedIndex, type ScreenView } from '../view.js';

/** Names as long as this are shown whole: the reason stands below where it does not fit. */
const NAME_LEAST = 14;

/** Who waits for a model, how long already, and what for. */
export function queueList(view: ScreenView, width: number): PaneList {
  const { glyphs } = view.options;
  const inner = width - 2;
  const longest = Math.max(8, ...view.lists.queue.map((entry) => textWidth(visibleText(entry.model))));
  const model = Math.max(6, Math.min(longest, Math.max(NAME_LEAST, Math.floor(inner / 3))));
  const why = Math.max(4, inner - model - 9);
  const columns: Column[] = [
    { key: 'position', title: '#', width: 2, align: 'right' },
    { key: 'model', title: 'MODEL', width: model, align: 'left', cutAt: 'middle' },
    { key: 'wait', title: 'WAIT', width: 4, align: 'right' },
    { key: 'why', title: 'WHY', width: why, align: 'left' },
  ];
  const selected = selectedIndex(view.lists, view.screen, 'queue');
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
          why: { text: whyText(entry) },
        },
        glyphs.cut,
      ),
    ),
    empty: [
      emptyText(view, view.snapshot.queue.length, 'nobody waits'),
      ...(view.snapshot.queue.length === 0 && view.options.source.kind !== 'router'
        ? ['requests stand here until their model is up']
        : []),
    ],
    selected,
    after: wholeReason(view.lists.queue[Math.max(0, selected)], why, inner),
  };
}

/** The reason without the model's name, which stands beside it. */
function whyText({ model, why, waiters }: QueueView): string {
  const reason = withoutName(why, model);
  return waiters > 1 ? `${waiters} wait: ${reason}` : reason;
}

/** The selected entry's reason once more, where its column has cut it. */
function wholeReason(entry: QueueView | undefined, columnWidth: number, width: number): Row[] {
  if (entry === undefined) return [];
  const reason = span(whyText(entry), 'dim');
  if (rowWidth([reason]) <= columnWidth) return [];
  return wrapRow([span(`#${entry.position} `, 'dim'), reason], width);
}

/** Models whose needs are to be measured; the first one with how long that has been going on. */
export function measureList(view: ScreenView, width: number): PaneList {
  const { measureQueue, measuringSince } = view.snapshot;
  const running = (model: string): string =>
    measuringSince === null || model !== measureQueue[0] ? '' : `running ${durationText(view.now - measuringSince)}`;
  const waiting = view.snapshot.measureQueue.length;
  return {
    title: waiting === 0 ? 'Measure queue' : `Measure queue (${waiting})`,
    header: null,
    rows: view.lists.measure.map((model) => {
      const state = running(model);
      const name = cutMiddle(
        visibleText(model),
        width - 2 - (state === '' ? 0 : state.length + 2),
        view.options.glyphs.cut,
      );
      return state === '' ? [span(name)] : [span(`${name}  `), span(state, 'dim')];
    }),
    empty: [emptyText(view, waiting, 'nothing to measure')],
    selected: selectedIndex(view.lists, view.screen, 'measure'),
  };
}

function emptyText(view: ScreenView, all: number, nothing: string): string {
  if (all > 0) return 'nothing here matches the filter';
  return view.options.source.kind === 'router' ? 'a llama-server router does not tell' : nothing;
}
