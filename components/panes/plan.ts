import type { Page } from '../../src/store/screen-store.js';
import type { Tone } from '../theme/tones.js';
import { span } from '../widgets/row.js';
import type { ScreenView } from '../view.js';
import type { PlanView } from '../../src/client/types.js';
import { decisionRows, section, SECTION_INDENT } from './ledger.js';
import { pageWidth, type PageContent } from './page-content.js';

const TONES: Readonly<Record<PlanView['outcome'], Tone>> = {
  running: 'good',
  fits: 'good',
  proceeds: 'bad',
  evicts: 'warn',
  waits: 'warn',
  refused: 'bad',
};

/** What loading a model now would do. */
export function planPage(view: ScreenView, page: Extract<Page, { kind: 'plan' }>): PageContent {
  const title = `Plan: load ${page.model}`;
  if (page.error !== null) return { title, rows: [[span(page.error, 'bad')]] };
  if (page.plan === null) return { title, rows: [[span('asking...', 'dim')]] };
  const { outcome, sentence, decision } = page.plan;
  return {
    title,
    rows: [
      [span(outcome.toUpperCase(), TONES[outcome]), span(`  ${sentence}`)],
      [span('nothing was changed by asking', 'dim')],
      ...(decision === null
        ? []
        : section(
            'The decision as it would be made now',
            decisionRows(decision, pageWidth(view) - SECTION_INDENT, view.options.glyphs.cut),
          )),
    ],
  };
}
