import type { ScreenView } from '../view.js';
import { detailPage, logsPage } from '../panes/detail.js';
import { planPage } from '../panes/plan.js';
import { PAGE_INDENT, type PageContent } from '../panes/page-content.js';
import { whyPage } from '../panes/why.js';
import type { Page } from '../../src/store/screen-store.js';
import { cutRow, span, wrapRow, type Row } from '../widgets/row.js';
import { rule } from '../widgets/rule.js';

export interface DrawnPage {
  readonly rows: readonly Row[];
  /** Where the window really begins: what was asked for, but not past the end. */
  readonly scroll: number;
}

/** A page in `height` rows, from the wanted line on. */
export function drawPage(
  content: PageContent,
  view: ScreenView,
  width: number,
  height: number,
  tail: boolean,
): DrawnPage {
  const { glyphs } = view.options;
  const body = Math.max(0, height - 1);
  const lines = content.rows.flatMap((row) => wrapRow(row, width - PAGE_INDENT));
  const last = Math.max(0, lines.length - body);
  // A log is read from its end: there the scroll position counts from the bottom.
  const scroll = Math.min(view.screen.scroll, last);
  const from = tail ? last - scroll : scroll;
  const hidden = [
    ...(from > 0 ? [`${from}${glyphs.above}`] : []),
    ...(lines.length - from - body > 0 ? [`${lines.length - from - body}${glyphs.below}`] : []),
  ].join(' ');
  const title = hidden === '' ? content.title : `${content.title} ${hidden}`;
  const rows: Row[] = [rule(title, width, glyphs, true)];
  for (const line of lines.slice(from, from + body))
    rows.push(cutRow([span(' '.repeat(PAGE_INDENT)), ...line], width, glyphs.cut));
  return { rows, scroll };
}

/** The content of whatever page is open; help comes from the live table of commands. */
export function pageContent(page: Page, view: ScreenView, help: PageContent): PageContent {
  switch (page.kind) {
    case 'help':
      return help;
    case 'detail':
      return detailPage(view, page.model);
    case 'logs':
      return logsPage(view, page.model);
    case 'why':
      return whyPage(view, page.subject);
    case 'plan':
      return planPage(view, page);
  }
}
