import type { ScreenView } from '../view.js';
import type { Row } from '../widgets/row.js';

/** What lies over the panes: a title and as many rows as it takes; the layout cuts a window out of them. */
export interface PageContent {
  readonly title: string;
  readonly rows: readonly Row[];
}

/** How far the rows of a page stand in. */
export const PAGE_INDENT = 2;

/** The cells that a page's rows have; longer text is wrapped, a table has to know. */
export function pageWidth(view: ScreenView): number {
  return view.screen.viewport.columns - PAGE_INDENT;
}
