import type { WhySubject } from '../../src/store/screen-store.js';
import { span } from '../widgets/row.js';
import type { ScreenView } from '../view.js';
import { deviceRows } from './device-page.js';
import { decisionRows } from './ledger.js';
import { pageWidth, type PageContent } from './page-content.js';
import { whyModelRows } from './why-model.js';

/** Answers `w`: the record behind a decision, why a model is or is not loaded, or who fills a device. */
export function whyPage(view: ScreenView, subject: WhySubject): PageContent {
  switch (subject.kind) {
    case 'decision': {
      const decision = view.snapshot.decisions.find((known) => known.number === subject.number);
      return {
        title: `Why: decision #${subject.number}`,
        rows:
          decision === undefined
            ? [[span('This decision is no longer kept.')]]
            : decisionRows(decision, pageWidth(view), view.options.glyphs.cut),
      };
    }
    case 'model':
      return { title: `Why: ${subject.model}`, rows: whyModelRows(view, subject.model) };
    case 'device':
      return { title: `Why: ${subject.device}`, rows: deviceRows(view, subject.device) };
  }
}
