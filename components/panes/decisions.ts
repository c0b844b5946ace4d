import type { Decision, DecisionKind, Source } from '../../src/client/types.js';
import { clockText } from '../text/format.js';
import type { Tone } from '../theme/tones.js';
import type { PaneList } from '../widgets/pane.js';
import { cell, span, type Row } from '../widgets/row.js';
import { selectedIndex, type ScreenView } from '../view.js';

/** From this width on there is room for the numbers that other places name. */
const NUMBERS_FROM = 100;
/** Rows must not move because a tenth decision was made. */
const DIGITS_LEAST = 3;

const NOTHING_YET: Readonly<Record<Source['kind'], string>> = {
  supervisor: 'nothing was decided yet: load a model (l) or send a request',
  router: 'a llama-server router does not tell what it decides',
  replay: 'nothing had been decided yet: ] goes on to the first decision',
};

/** What was decided, newest first. */
export function decisionsList(view: ScreenView, width: number): PaneList {
  const all = view.snapshot.decisions.length;
  const shown = view.lists.decisions.length;
  const newest = view.snapshot.decisions.at(-1)?.number ?? 0;
  const digits = width >= NUMBERS_FROM ? Math.max(DIGITS_LEAST, String(newest).length) : 0;
  return {
    title: shown === all ? 'Decisions' : `Decisions (${shown} of ${all})`,
    header: null,
    rows: view.lists.decisions.map((decision) => decisionRow(decision, digits, view.options.glyphs.cut)),
    empty: [all === 0 ? NOTHING_YET[view.options.source.kind] : 'no decision matches the filter'],
    selected: selectedIndex(view.lists, view.screen, 'decisions'),
  };
}

/** Without its number where `digits` is 0. */
function decisionRow(decision: Decision, digits: number, mark: string): Row {
  return [
    span(clockText(decision.at), 'dim'),
    span(' '),
    ...(digits === 0 ? [] : [span(`#${decision.number}`.padEnd(digits + 2), 'dim')]),
    cell(shortKind(decision.kind), 8, mark, kindTone(decision.kind)),
    span(' '),
    span(decision.sentence),
  ];
}

/** The word for a kind, in at most eight cells. */
export function shortKind(kind: DecisionKind): string {
  return kind === 'out-of-memory' ? 'OOM' : kind;
}

/** How a kind of decision is coloured. */
export function kindTone(kind: DecisionKind): Tone {
  switch (kind) {
    case 'admit':
    case 'backfill':
    case 'ready':
    case 'wake':
      return 'good';
    case 'wait':
    case 'drain':
    case 'evict':
      return 'warn';
    case 'refuse':
    case 'out-of-memory':
      return 'bad';
    case 'stop':
    case 'release':
    case 'exit':
    case 'pin':
    case 'unpin':
    case 'measure':
    case 'notice':
      return 'plain';
  }
}
