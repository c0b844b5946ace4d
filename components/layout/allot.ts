import type { PaneId } from '../../src/store/screen-store.js';

/** The smallest terminal that panes are drawn in. */
export const SMALLEST = { columns: 60, rows: 16 } as const;

/** True when there is only room to say so. */
export function isTooSmall(viewport: { readonly columns: number; readonly rows: number }): boolean {
  return viewport.columns < SMALLEST.columns || viewport.rows < SMALLEST.rows;
}

/** How many rows each part of the screen gets; a part with 0 rows is not drawn. */
export interface Allotment {
  /** `wide`: queues beside the models; `stacked`: under them; `tabs`: one pane at a time. */
  readonly mode: 'wide' | 'stacked' | 'tabs';
  readonly devices: number;
  readonly notice: number;
  readonly tabs: number;
  readonly models: number;
  readonly queue: number;
  readonly measure: number;
  readonly decisions: number;
  readonly hints: number;
}

/** What the allotment depends on. Nothing in it changes from second to second, or the screen would jump. */
export interface Demand {
  readonly columns: number;
  readonly rows: number;
  readonly devices: number;
  readonly models: number;
  readonly notice: boolean;
  /** The pane that takes all rows, or null. */
  readonly zoomed: PaneId | null;
  readonly focus: PaneId;
}

const MODELS_LEAST = 4;
const QUEUE_LEAST = 3;
const DECISIONS_LEAST = 3;
const MEASURE_LEAST = 2;

/**
 * Shares the rows out. When they do not suffice, parts are given up in this order: hints, measure queue,
 * decisions, queue; the bars last. The sum never exceeds `rows` minus the title.
 */
export function allot(demand: Demand): Allotment {
  const devices = Math.max(0, Math.min(demand.devices, demand.rows - 1));
  const body = demand.rows - 1 - devices;
  const notice = demand.notice && body >= MODELS_LEAST + DECISIONS_LEAST + 1 ? 1 : 0;
  const room = body - notice;
  const none = { devices, notice, tabs: 0, models: 0, queue: 0, measure: 0, decisions: 0, hints: 0 };
  if (demand.zoomed !== null && demand.zoomed !== 'devices') {
    const hints = room > MODELS_LEAST ? 1 : 0;
    return { mode: 'tabs', ...none, hints, [demand.zoomed]: room - hints };
  }
  if (demand.columns >= 100) return { mode: 'wide', ...none, ...wide(room, demand.models) };
  if (demand.columns >= 80) return { mode: 'stacked', ...none, ...stacked(room, demand.models) };
  const tabs = room > 2 ? 1 : 0;
  const hints = room > MODELS_LEAST + 1 ? 1 : 0;
  const pane = demand.focus === 'devices' ? 'models' : demand.focus;
  return { mode: 'tabs', ...none, tabs, hints, [pane]: Math.max(0, room - tabs - hints) };
}

type Shares = Pick<Allotment, 'models' | 'queue' | 'measure' | 'decisions' | 'hints'>;

function wide(room: number, models: number): Shares {
  const hints = room >= QUEUE_LEAST + MEASURE_LEAST + DECISIONS_LEAST + 1 ? 1 : 0;
  const shared = room - hints;
  const withDecisions = shared >= MODELS_LEAST + DECISIONS_LEAST;
  const decisionsLeast = withDecisions ? Math.max(DECISIONS_LEAST, Math.floor(shared * 0.3)) : 0;
  const upperLeast = Math.max(MODELS_LEAST, Math.min(QUEUE_LEAST + MEASURE_LEAST + 4, shared - decisionsLeast));
  const upper = withDecisions ? clamp(models + 2, upperLeast, shared - decisionsLeast) : shared;
  const measure = withDecisions && upper >= QUEUE_LEAST + MEASURE_LEAST ? (upper >= 12 ? 4 : MEASURE_LEAST) : 0;
  return { models: upper, queue: upper - measure, measure, decisions: withDecisions ? shared - upper : 0, hints };
}

function stacked(room: number, models: number): Shares {
  const least = { hints: 1, measure: MEASURE_LEAST, decisions: DECISIONS_LEAST, queue: QUEUE_LEAST };
  let needed = MODELS_LEAST + least.hints + least.measure + least.decisions + least.queue;
  for (const part of ['hints', 'measure', 'decisions', 'queue'] as const) {
    if (needed <= room) break;
    needed -= least[part];
    least[part] = 0;
  }
  let spare = Math.max(0, room - needed);
  const queueMore = least.queue > 0 && spare >= 4 ? 1 : 0;
  spare -= queueMore;
  const decisionsMore = least.decisions > 0 ? Math.floor(spare * 0.35) : 0;
  const modelsMore = least.decisions > 0 ? clamp(models + 2 - MODELS_LEAST, 0, spare - decisionsMore) : spare;
  return {
    models: Math.min(room, MODELS_LEAST + modelsMore),
    queue: least.queue + queueMore,
    measure: least.measure,
    decisions: least.decisions + (least.decisions > 0 ? spare - modelsMore : 0),
    hints: least.hints,
  };
}

function clamp(value: number, least: number, most: number): number {
  return Math.max(least, Math.min(value, most));
}
