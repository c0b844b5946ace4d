import type { ModelId } from '../../src/client/types.js';
import { shownLog } from '../../src/store/screen-store.js';
import type { ScreenView } from '../view.js';
import { rule } from '../widgets/rule.js';
import { cutRow, span, type Row } from '../widgets/row.js';
import { markMatches, matchingLines } from './log-search.js';
import { logWindow, type LogRoom, type LogWindow } from './log-window.js';
import { PAGE_INDENT } from './page-content.js';

/** The room that a log has on the screen, `height` rows with the title. */
export function logRoom(view: ScreenView, height: number): LogRoom {
  const { viewport } = view.screen;
  return { width: viewport.columns - PAGE_INDENT, height: Math.max(1, height - 1), mark: view.options.glyphs.cut };
}

/** The log of a model in `height` rows: exactly the part that is looked at. */
export function drawLog(view: ScreenView, model: ModelId, height: number): Row[] {
  const { glyphs } = view.options;
  const { columns } = view.screen.viewport;
  const { logView } = view.screen;
  const tail = shownLog(view.screen);
  const title = `Log of ${model}`;
  if (tail?.model !== model) return [rule(title, columns, glyphs, true), indented([span('reading...', 'dim')])];
  const error = tail.error === null ? [] : [indented([span(tail.error, 'warn')])];
  if (tail.lines.length === 0) {
    const empty = error.length > 0 ? error : [indented([span('no output yet', 'dim')])];
    return [rule(title, columns, glyphs, true), ...empty];
  }
  const window = logWindow(tail, logView, logRoom(view, height - error.length));
  const matches = matchingLines(tail, logView.search);
  return [
    rule(`${title}  ${standing(view, window, matches)}`, columns, glyphs, true),
    ...error.map((row) => cutRow(row, columns, glyphs.cut)),
    ...window.rows.map(({ text, line }) =>
      indented(
        markMatches(text, logView.search).map((piece) =>
          span(piece.text, !piece.matches ? 'plain' : line === logView.found ? 'accent' : 'warn'),
        ),
      ),
    ),
  ];
}

/** `lines 120-143 of 500  following`, and what is looked for. */
function standing(view: ScreenView, { rows, atEnd }: LogWindow, matches: readonly number[]): string {
  const { logView, frozen } = view.screen;
  const tail = shownLog(view.screen);
  if (tail === null) return '';
  const number = (line: number | undefined): number => (line ?? tail.dropped) - tail.dropped + 1;
  const found = logView.found === null ? -1 : matches.indexOf(logView.found);
  const at = found < 0 ? '' : `${found + 1} of `;
  return [
    `lines ${number(rows[0]?.line)}-${number(rows.at(-1)?.line)} of ${tail.lines.length}`,
    frozen !== null ? 'frozen (space)' : logView.top === null ? 'following' : atEnd ? 'at the end' : 'held (f follows)',
    ...(logView.wrap ? [] : ['cut (W wraps)']),
    ...(logView.search === '' ? [] : [`"${logView.search}" ${at}${matches.length}`]),
  ].join('  ');
}

function indented(row: Row): Row {
  return [span(' '.repeat(PAGE_INDENT)), ...row];
}
