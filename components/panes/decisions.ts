import type { Decision, DecisionKind } from '../../src/client/types.js';
import { clockText } from '../text/format.js';
import type { Tone } from '../theme/tones.js';
import type { PaneList } from '../widgets/pane.js';
import { cell, span, type Row } from '../widgets/row.js';
import { selectedIndex, type ScreenView } from '../view.js';

/** What was decided, newest first. */
export function decisionsList(view: ScreenView): PaneList {
  const all = view.snapshot.decisions.length;
  const shown = view.lists.decisions.length;
  return {
    title: shown === all ? 'Decisions' : `Decisions (${shown} of ${all})`,
    header: null,
    rows: view.lists.decisions.map((decision) => decisionRow(decision, view.options.glyphs.cut)),
    empty: [
      all === 0 ? 'nothing was decided yet: load a model (l) or send a request' : 'no decision matches the filter',
    ],
    selected: selectedIndex(view.lists, view.screen, 'decisions'),
  };
}

function decisionRow(decision: Decision, mark: string): Row {
  return [
    span(clockText(decision.at), 'dim'),
    span(' '),
    cell(shortKind(decision.kind), 8, mark, kindTone(decision.kind)),
    span(' '),
    span(decision.sentence),
  ];
}

function shortKind(kind: DecisionKind): string {
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
