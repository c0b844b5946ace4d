import type { Millis, RecordedPosition, Snapshot, SupervisorInfo } from '../../src/client/types.js';
import { FIGURES_INTERVAL_MILLIS } from '../../src/store/rates.js';
import { unexpectedEnd, type DomainState } from '../../src/store/domain-store.js';
import { clockText, countText, endText, rateText, staleText, uptimeText } from '../text/format.js';
import { isLost } from '../text/last-known.js';
import type { Tone } from '../theme/tones.js';
import { cutRow, rowWidth, span, spreadRow, type Row } from '../widgets/row.js';
import type { ScreenView } from '../view.js';

/** The first row: whose screen this is, whether it is live, and the few numbers that sum it up. */
export function titleRow(view: ScreenView, width: number): Row {
  const { snapshot, options, screen } = view;
  const { supervisor } = snapshot;
  const state = liveWord(view);
  const queued = snapshot.queue.filter((entry) => entry.wantedBy === 'requests').length;
  const head: Row = [
    span(' llm-tui ', 'accent'),
    span(` ${options.hostLabel ?? hostOf(supervisor)}  `),
    span(state.word, state.tone),
    ...(view.position === null ? [] : [span(`  ${positionText(view.position)}`, 'strong')]),
  ];
  // What is worth least comes last and is left out first.
  const parts: Row[] = [
    ...(supervisor.engine.simulated ? [[span('SIMULATED', 'warn')]] : []),
    // Once nobody answers, nobody knows how many are.
    [isLost(view) ? span(`was ${modelsText(snapshot)}`, 'dim') : span(modelsText(snapshot))],
    ...(queued > 0 ? [[span(`${queued} queued`, isLost(view) ? 'dim' : 'warn')]] : []),
    ...(snapshot.measureQueue.length > 0 ? [[span(`${snapshot.measureQueue.length} measuring`)]] : []),
    ...noticesPart(supervisor),
    ...(screen.filter === '' ? [] : [[span(`filter "${screen.filter}"`, 'accent')]]),
    ...(options.readOnly ? [[span('read only', 'dim')]] : []),
    ...(screen.refreshMillis === FIGURES_INTERVAL_MILLIS
      ? []
      : [[span(`every ${rateText(screen.refreshMillis)}`, 'accent')]]),
    // Of a router nobody knows when it was started, and of one that is gone whether it still runs.
    ...(options.source.kind === 'router' || isLost(view)
      ? []
      : [[span(`up ${uptimeText(view.now - supervisor.startedAt)}`, 'dim')]]),
    [span(supervisor.engine.name, 'dim')],
  ];
  const right: Row = [span('?:help', 'dim')];
  let left = head;
  for (const part of parts) {
    const longer = [...left, span('  '), ...part];
    if (rowWidth(longer) + 1 + rowWidth(right) > width) continue;
    left = longer;
  }
  return spreadRow(left, right, width, options.glyphs.cut);
}

/** `12 of 345  14:02:11`: which moment of a recording this is. */
function positionText({ moment, moments, at, playing }: RecordedPosition): string {
  return `${moment} of ${moments}  ${clockText(at)}${playing ? '  playing' : ''}`;
}

/** The row while there is no snapshot yet. */
export function waitingRow(hostLabel: string | null, known: DomainState, width: number, mark: string): Row {
  return cutRow([span(' llm-tui  ', 'accent'), ...waitingText(hostLabel, known)], width, mark);
}

/** The same without its beginning, for those who listen too. */
export function waitingText(hostLabel: string | null, known: DomainState): Row {
  const { connection } = known;
  const end = unexpectedEnd(known);
  if (end !== null) {
    return [span(`the supervisor ended (${endText(end)}): a starts it again, q leaves; its log: ${end.log}`, 'bad')];
  }
  if (connection.state === 'lost') return [span(`${connection.reason} Trying again; q leaves.`, 'bad')];
  return [span(`connecting to ${hostLabel ?? 'the supervisor'}; q leaves`, 'dim')];
}

/** `2 of 4 models ready`; while some sleep or are on their way, `2 ready, 1 asleep, 1 loading of 4`. */
function modelsText({ models, queue }: Snapshot): string {
  const ready = models.filter(({ word }) => word === 'ready').length;
  const asleep = models.filter(({ word }) => word === 'sleeping' || word === 'parked').length;
  const loading = models.filter(({ word }) => word === 'loading').length;
  // What the operator or a pin has asked for and nobody waits for yet; it is loading already where it could.
  const wanted = queue.filter(
    (entry) => entry.wantedBy !== 'requests' && models.find(({ id }) => id === entry.model)?.word !== 'loading',
  ).length;
  if (asleep + loading + wanted === 0) return `${ready} of ${countText(models.length, 'model')} ready`;
  return (
    [
      `${ready} ready`,
      ...(asleep > 0 ? [`${asleep} asleep`] : []),
      ...(loading > 0 ? [`${loading} loading`] : []),
      ...(wanted > 0 ? [`${wanted} to load`] : []),
    ].join(', ') + ` of ${models.length}`
  );
}

/** Samples come every second or two: so long without anything is no coincidence. */
const SILENT_MILLIS: Millis = 5_000;

function liveWord(view: ScreenView): { word: string; tone: Tone } {
  const { snapshot, connection, screen } = view;
  if (view.position !== null) return { word: 'RECORDED', tone: 'warn' };
  if (connection.state !== 'live') return { word: 'LOST', tone: 'bad' };
  if (screen.frozen !== null) return { word: 'FROZEN', tone: 'warn' };
  if (isSilent(view)) return { word: `SILENT ${staleText(view.silentMillis)}`, tone: 'bad' };
  return snapshot.shuttingDown || screen.stopping ? { word: 'STOPPING', tone: 'warn' } : { word: 'LIVE', tone: 'good' };
}

/** True when a supervisor that takes samples has sent nothing for longer than it ever would. */
function isSilent({ silentMillis, snapshot }: ScreenView): boolean {
  return silentMillis > SILENT_MILLIS && snapshot.devices.some((device) => device.sampledAt !== null);
}

/** `rig1:8080`: the machine by its name, since it mostly listens on an address that says nothing. */
function hostOf(supervisor: SupervisorInfo): string {
  const port = URL.canParse(supervisor.url) ? new URL(supervisor.url).port : '';
  return port === '' ? supervisor.host : `${supervisor.host}:${port}`;
}

/** How many there are, in the colour of a warning as long as one of them is more than that something is well again. */
function noticesPart({ notices, noticeMarks }: SupervisorInfo): Row[] {
  if (notices.length === 0) return [];
  const isAlarm = notices.some((_, index) => noticeMarks?.[index]?.over !== true);
  return [[span(countText(notices.length, 'notice'), isAlarm ? 'warn' : 'dim')]];
}
