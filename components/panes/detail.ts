import { shownLog } from '../../src/store/screen-store.js';
import type { DeviceBytes, Millis, ModelId, ModelView } from '../../src/client/types.js';
import { cleanText } from '../text/clean.js';
import { clockText, durationText, endText, gibText, idleText, sizeText, tokensText } from '../text/format.js';
import type { Tone } from '../theme/tones.js';
import { span, type Row } from '../widgets/row.js';
import { headerRow, tableRow, type Column } from '../widgets/table.js';
import type { ScreenView } from '../view.js';
import { section } from './ledger.js';
import { loadingText } from './models.js';
import { stateOf } from '../text/model-state.js';
import type { PageContent } from './page-content.js';
import { requestRows } from './requests.js';
import { isWaiting, notLoadedText } from './why-model.js';

/** Lines of the log on the detail page; the page of its own has all that are kept. */
const DETAIL_LOG_LINES = 12;

const MEMORY: readonly Column[] = [
  { key: 'device', title: 'DEVICE', width: 12, align: 'left' },
  { key: 'claim', title: 'claim', width: 7, align: 'right' },
  { key: 'resident', title: 'used', width: 7, align: 'right' },
];

/** Everything that is known of one model. */
export function detailPage(view: ScreenView, id: ModelId): PageContent {
  const model = view.snapshot.models.find((known) => known.id === id);
  if (model === undefined) return { title: id, rows: [[span('This model has left the catalog.')]] };
  return {
    title: `${id} ${stateOf(model, view.snapshot).word}`,
    rows: [
      ...factRows(view, model),
      ...section('Memory (GiB)', memoryRows(model.claim, model.resident, view.options.glyphs.cut)),
      ...section('Requests (c cancels one of them)', requestRows(view, id)),
      ...section('Last exit', exitRows(model)),
      ...section('Log (L shows more)', logRows(view, id)),
    ],
  };
}

function factRows(view: ScreenView, model: ModelView): Row[] {
  const state = stateOf(model, view.snapshot);
  // A router tells of none of it, and nothing is made up.
  const isTold = view.options.source.kind !== 'router';
  const marks = [...(model.pinned ? ['pinned'] : []), ...(model.blocked ? ['blocked'] : [])];
  const facts: (readonly [string, string, Tone?])[] = [
    ['state', [state.word, ...marks].join(', '), state.tone],
    ...(model.invalid === null ? [] : [['cannot load', model.invalid, 'bad'] as const]),
    ...(model.origin === undefined ? [] : [['from', model.origin] as const]),
    ...(model.aliases.length === 0 ? [] : [['aliases', model.aliases.join(', ')] as const]),
    ...(isTold ? [['devices', model.devices.join(', ') || '-'] as const] : []),
    [
      'context',
      model.contextTokens === null ? '-' : `${model.contextTokens} tokens (${tokensText(model.contextTokens)})`,
    ],
    ...(isTold && model.generation === null
      ? [[isWaiting(view, model) ? 'waiting' : 'not loaded', notLoadedText(view, model)] as const]
      : []),
    ...(!isTold || model.generation === null
      ? []
      : [
          ['process', `pid ${model.pid ?? '-'}, generation ${model.generation}`] as const,
          ['requests', `${model.requests} in flight`] as const,
        ]),
    ...(model.word === 'loading' ? [['loading', loadingText(model, view.now)] as const] : []),
    ...(model.lastUsedAt === null ? [] : [['last work', lastWorkText(view, model, model.lastUsedAt)] as const]),
    ...(model.loadMillis === null ? [] : [['latest load', `took ${durationText(model.loadMillis)}`] as const]),
    ...(isTold ? [['need', claimText(model)] as const] : []),
  ];
  return facts.map(([name, value, tone]) => [span(name.padEnd(13), 'dim'), span(value, tone ?? 'plain')]);
}

function claimText(model: ModelView): string {
  const total = Object.values(model.claim).reduce((sum, bytes) => sum + bytes, 0);
  switch (model.claimQuality) {
    case 'observed':
      return `${sizeText(total)}, the most that was seen in earlier runs`;
    case 'effective':
      return `${sizeText(total)}, as the model itself says`;
    case 'min':
      return `${sizeText(total)}, measured`;
    case 'estimate':
      return `about ${sizeText(total)}, estimated from its file`;
  }
}

function memoryRows(claim: DeviceBytes, resident: DeviceBytes, mark: string): Row[] {
  const devices = [...new Set([...Object.keys(claim), ...Object.keys(resident)])];
  if (devices.length === 0) return [];
  const text = (bytes: number | undefined): string => (bytes === undefined ? '-' : gibText(bytes));
  return [
    headerRow(MEMORY, mark),
    ...devices.map((device) =>
      tableRow(
        MEMORY,
        { device: { text: device }, claim: { text: text(claim[device]) }, resident: { text: text(resident[device]) } },
        mark,
      ),
    ),
  ];
}

function exitRows(model: ModelView): Row[] {
  const exit = model.lastExit;
  if (exit === null) return [];
  return [
    // A router does not say when that was.
    [
      span(exit.at === 0 ? '' : `${clockText(exit.at)}  `, 'dim'),
      span(exit.reason, exit.exitClass === 'stopped' ? 'plain' : 'bad'),
    ],
    [span(`${exit.exitClass} (${endText(exit)})${exit.duringLoad ? ', while it was being loaded' : ''}`, 'dim')],
    ...exit.lastLines.map((line): Row => [span(`| ${cleanText(line)}`)]),
  ];
}

function logRows(view: ScreenView, id: ModelId): Row[] {
  if (!view.options.source.can.has('logs')) return [];
  const tail = shownLog(view.screen);
  if (tail?.model !== id) return [[span('reading...', 'dim')]];
  if (tail.error !== null) return [[span(tail.error, 'warn')]];
  if (tail.lines.length === 0) return [[span('no output yet', 'dim')]];
  return tail.lines.slice(-DETAIL_LOG_LINES).map((line) => [span(cleanText(line))]);
}

/** What has just come up counts as used at that moment, or it would be the first to leave; that was no work. */
function lastWorkText({ now, snapshot }: ScreenView, { id, requests }: ModelView, lastUsedAt: Millis): string {
  const isSinceReady =
    requests === 0 &&
    snapshot.decisions.some(({ kind, model, at }) => kind === 'ready' && model === id && at === lastUsedAt);
  return isSinceReady ? 'none since it came up' : `${idleText(now - lastUsedAt)} ago`;
}
