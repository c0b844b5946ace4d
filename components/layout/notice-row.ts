import type { OutOfMemoryReport, SupervisorEnd } from '../../src/client/types.js';
import { unseenReport } from '../panes/out-of-memory.js';
import { clockText, endText } from '../text/format.js';
import type { Tone } from '../theme/tones.js';
import { rowWidth, span, spreadRow, type Row } from '../widgets/row.js';
import type { ScreenView } from '../view.js';

/**
 * The row for what must not be missed: a supervisor that has ended, a lost connection, a model that ran out of memory, the
 * newest notice, in this order; null when there is nothing to say. That something is well again is for the page of notices:
 * here it would look like one more thing that is wrong.
 */
export function noticeRow(view: ScreenView, width: number): Row | null {
  const mark = view.options.glyphs.cut;
  if (view.ended !== null) return endedRow(view.ended, view.options.readOnly, width, mark);
  const { connection } = view;
  if (connection.state === 'lost') {
    // By the clock, since an age would have to be drawn again every second.
    const { source, program } = view.options;
    const start = source.can.has('stop') ? `; if it has ended, ${program} starts it` : '';
    const text = `no connection since ${clockText(connection.since)}, trying again${start}: ${connection.reason}`;
    const said = alarm(text, 'bad');
    return spreadRow(said, offer('i', 'tells more'), width, mark);
  }
  const unseen = unseenReport(view);
  if (unseen !== null) return outOfMemoryRow(unseen, width, mark);
  const { notices, noticeMarks } = view.snapshot.supervisor;
  const newest = notices.findLast((_, index) => noticeMarks?.[index]?.over !== true);
  if (newest === undefined) return null;
  const said = alarm(newest, 'warn');
  if (notices.length > 1) return spreadRow(said, offer('i', `shows all ${notices.length}`), width, mark);
  return rowWidth(said) <= width ? said : spreadRow(said, offer('i', 'shows all of it'), width, mark);
}

function alarm(text: string, tone: Tone): Row {
  return [span(' ! ', tone), span(text, tone)];
}

function offer(key: string, what: string): Row {
  return [span(key, 'accent'), span(` ${what} `, 'dim')];
}

function endedRow(end: SupervisorEnd, readOnly: boolean, width: number, mark: string): Row {
  const said = alarm(`the supervisor ended at ${clockText(end.at)} (${endText(end)}); its log: ${end.log}`, 'bad');
  return spreadRow(said, readOnly ? offer('q', 'leaves') : offer('a', 'starts it again'), width, mark);
}

/** Says so, and names the key; by the clock, since an age would have to be drawn again every second. */
function outOfMemoryRow({ model, device, at }: OutOfMemoryReport, width: number, mark: string): Row {
  const where = device === null ? '' : ` on ${device}`;
  const said = alarm(`${model} ran out of memory${where} at ${clockText(at)}`, 'bad');
  const what =
    width >= 110 ? 'shows who held it and what would help' : width >= 76 ? 'shows what would help' : 'shows why';
  return spreadRow(said, offer('!', what), width, mark);
}
