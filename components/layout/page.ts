import type { ScreenView } from '../view.js';
import { detailPage } from '../panes/detail.js';
import { outOfMemoryPage } from '../panes/out-of-memory.js';
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
export function drawPage(content: PageContent, view: ScreenView, width: number, height: number): DrawnPage {
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
  return { rows, scroll: from };
}

/** The content of whatever page is open, but of a log, which is longer than it is shown; help comes from the live table. */
export function pageContent(
  page: Exclude<Page, { kind: 'logs' }>,
  view: ScreenView,
  help: () => PageContent,
): PageContent {
  switch (page.kind) {
    case 'help':
      return help();
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
