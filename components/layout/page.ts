import type { ScreenView } from '../view.js';
import { detailPage } from '../panes/detail.js';
import { noticesPage } from '../panes/notices.js';
import { drawLog } from '../panes/log-page.js';
import { requestsList } from '../panes/requests.js';
import { drawPane } from '../widgets/pane.js';
import { outOfMemoryPage } from '../panes/out-of-memory.js';
import { planPage } from '../panes/plan.js';
import { PAGE_INDENT, type PageContent } from '../panes/page-content.js';
import { titleAsOf } from '../text/last-known.js';
import { whyPage } from '../panes/why.js';
import { shownLog, type Page } from '../../src/store/screen-store.js';
import { cutRow, span, wrapRow, type Row } from '../widgets/row.js';
import { rule } from '../widgets/rule.js';

export interface DrawnPage {
  readonly rows: readonly Row[];
  /** Where the window really begins: what was asked for, but not past the end. */
  readonly scroll: number;
  /** What j and k do there; null: all there is is shown. */
  readonly moves: 'scroll' | 'choose' | null;
}

/** Whatever page is open, in `height` rows; help comes from the live table. */
export function drawOpenPage(
  page: Page,
  view: ScreenView,
  help: () => PageContent,
  width: number,
  height: number,
): DrawnPage {
  switch (page.kind) {
    case 'logs':
      return {
        rows: drawLog(view, page.model, height),
        scroll: 0,
        moves: isLongerThan(height, view) ? 'scroll' : null,
      };
    case 'requests': {
      const place = { width, height, focused: true, offset: view.screen.scroll };
      const { title, ...list } = requestsList(view, page);
      const { rows, offset } = drawPane({ ...list, title: titleAsOf(title, view) }, place, view.options.glyphs);
      return { rows, scroll: offset, moves: list.rows.length > 1 ? 'choose' : null };
    }
    case 'help':
    case 'notices':
    case 'plan':
    case 'out-of-memory':
      return drawPage(pageContent(page, view, help), view, width, height);
    // What is on these was so when it was last heard of; a decision stays what it was.
    case 'detail':
    case 'why': {
      const { title, rows } = pageContent(page, view, help);
      const isRecord = page.kind === 'why' && page.subject.kind === 'decision';
      return drawPage({ title: isRecord ? title : titleAsOf(title, view), rows }, view, width, height);
    }
  }
}

/** A page in `height` rows, from the wanted line on. */
function drawPage(content: PageContent, view: ScreenView, width: number, height: number): DrawnPage {
  const { glyphs } = view.options;
  const body = Math.max(0, height - 1);
  const lines = content.rows.flatMap((row) => wrapRow(row, width - PAGE_INDENT));
  const last = Math.max(0, lines.length - body);
  const from = Math.min(view.screen.scroll, last);
  const hidden = [
    ...(from > 0 ? [`${from}${glyphs.above}`] : []),
    ...(lines.length - from - body > 0 ? [`${lines.length - from - body}${glyphs.below}`] : []),
  ].join(' ');
  const title = hidden === '' ? content.title : `${content.title} ${hidden}`;
  const rows: Row[] = [rule(title, width, glyphs, true)];
  for (const line of lines.slice(from, from + body))
    rows.push(cutRow([span(' '.repeat(PAGE_INDENT)), ...line], width, glyphs.cut));
  return { rows, scroll: from, moves: last > 0 ? 'scroll' : null };
}

/** True for a log of more lines than there is room for. */
function isLongerThan(height: number, { screen }: ScreenView): boolean {
  return (shownLog(screen)?.lines.length ?? 0) > height - 1;
}

/** The content of a page that is read: a log is longer than it is shown, and in the requests one is selected. */
export function pageContent(
  page: Exclude<Page, { kind: 'logs' | 'requests' }>,
  view: ScreenView,
  help: () => PageContent,
): PageContent {
  switch (page.kind) {
    case 'help':
      return help();
    case 'notices':
      return noticesPage(view);
    case 'detail':
      return detailPage(view, page.model);
    case 'why':
      return whyPage(view, page.subject);
    case 'plan':
      return planPage(view, page);
    case 'out-of-memory':
      return outOfMemoryPage(view, page.decision);
  }
}
