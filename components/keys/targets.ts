import type { ModelId, ModelView } from '../../src/client/types.js';
import type { WhySubject } from '../../src/store/screen-store.js';
import { reportOf } from '../panes/out-of-memory.js';
import { selectedId, type ScreenView } from '../view.js';

/** The model that a command is meant for: the one named, that of the open page, or that of the selected row; null: none. */
export function targetModel(view: ScreenView): ModelId | null {
  if (view.named !== null) return view.named;
  const { page, focus } = view.screen;
  switch (page?.kind) {
    case 'detail':
    case 'logs':
    case 'requests':
    case 'plan':
      return page.model;
    case 'why':
      return page.subject.kind === 'model' ? page.subject.model : null;
    case 'out-of-memory':
      return reportOf(view.snapshot, page.decision)?.model ?? null;
    case 'help':
    case 'notices':
      return null;
    case undefined:
      break;
  }
  const id = selectedId(view.lists, view.screen, focus);
  switch (focus) {
    case 'models':
    case 'queue':
    case 'measure':
      return id;
    case 'decisions':
      return view.lists.decisions.find((decision) => String(decision.number) === id)?.model ?? null;
    case 'devices':
      return null;
  }
}

/** The view of the target model, or null when there is none or the catalog no longer has it. */
export function targetModelView(view: ScreenView): ModelView | null {
  const id = targetModel(view);
  return view.snapshot.models.find((model) => model.id === id) ?? null;
}

/** What `w` is to explain, or null when nothing is selected. */
export function whySubject(view: ScreenView): WhySubject | null {
  const { page, focus } = view.screen;
  if (page !== null || view.named !== null) {
    const model = targetModel(view);
    return model === null ? null : { kind: 'model', model };
  }
  const id = selectedId(view.lists, view.screen, focus);
  if (id === null) return null;
  switch (focus) {
    case 'devices':
      return { kind: 'device', device: id };
    case 'decisions':
      return { kind: 'decision', number: Number(id) };
    case 'queue': {
      const entry = view.lists.queue.find((queued) => queued.model === id);
      return entry !== undefined && entry.decision > 0
        ? { kind: 'decision', number: entry.decision }
        : { kind: 'model', model: id };
    }
    case 'models':
    case 'measure':
      return { kind: 'model', model: id };
  }
}
