import type { SupervisorInfo } from '../../src/client/types.js';
import type { Connection } from '../../src/store/domain-store.js';
import { countText, uptimeText } from '../text/format.js';
import type { Tone } from '../theme/tones.js';
import { cutRow, rowWidth, span, spreadRow, type Row } from '../widgets/row.js';
import type { ScreenView } from '../view.js';

/** The first row: whose screen this is, whether it is live, and the few numbers that sum it up. */
export function titleRow(view: ScreenView, width: number): Row {
  const { snapshot, options, screen } = view;
  const { supervisor } = snapshot;
  const state = liveWord(view.connection, screen.frozen !== null, snapshot.shuttingDown || screen.stopping);
  const running = snapshot.models.filter((model) => model.generation !== null).length;
  const head: Row = [
    span(' llm-tui ', 'accent'),
    span(` ${options.hostLabel ?? hostOf(supervisor)}  `),
    span(state.word, state.tone),
  ];
  // What is worth least comes last and is left out first.
  const parts: Row[] = [
    ...(supervisor.engine.simulated ? [[span('SIMULATED', 'warn')]] : []),
    [span(`${running} of ${countText(snapshot.models.length, 'model')} running`)],
    ...(snapshot.queue.length > 0 ? [[span(`${snapshot.queue.length} queued`, 'warn')]] : []),
    ...(snapshot.measureQueue.length > 0 ? [[span(`${snapshot.measureQueue.length} measuring`)]] : []),
    ...(screen.filter === '' ? [] : [[span(`filter "${screen.filter}"`, 'accent')]]),
    ...(options.readOnly ? [[span('read only', 'dim')]] : []),
    [span(`up ${uptimeText(view.now - supervisor.startedAt)}`, 'dim')],
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

/** The row while there is no snapshot yet. */
export function waitingRow(hostLabel: string | null, connection: Connection, width: number, mark: string): Row {
  const where = hostLabel === null ? 'the supervisor' : hostLabel;
  const text =
    connection.state === 'lost' ? `${connection.reason} Trying again; q leaves.` : `connecting to ${where}; q leaves`;
  return cutRow([span(' llm-tui  ', 'accent'), span(text, connection.state === 'lost' ? 'bad' : 'dim')], width, mark);
}

function liveWord(connection: Connection, frozen: boolean, stopping: boolean): { word: string; tone: Tone } {
  if (connection.state !== 'live') return { word: 'LOST', tone: 'bad' };
  if (frozen) return { word: 'FROZEN', tone: 'warn' };
  return stopping ? { word: 'STOPPING', tone: 'warn' } : { word: 'LIVE', tone: 'good' };
}

/** `rig1:8080`: the machine by its name, since it mostly listens on an address that says nothing. */
function hostOf(supervisor: SupervisorInfo): string {
  const port = URL.canParse(supervisor.url) ? new URL(supervisor.url).port : '';
  return port === '' ? supervisor.host : `${supervisor.host}:${port}`;
}

/** A lost connection, or else the newest notice; null when there is nothing to say. */
export function noticeRow(view: ScreenView, width: number): Row | null {
  const { glyphs } = view.options;
  if (view.connection.state === 'lost') {
    return cutRow([span(' ! ', 'bad'), span(`${view.connection.reason} Trying again.`, 'bad')], width, glyphs.cut);
  }
  const { notices } = view.snapshot.supervisor;
  const newest = notices.at(-1);
  if (newest === undefined) return null;
  const more = notices.length > 1 ? `  (1 of ${notices.length}; ? shows all)` : '';
  return spreadRow([span(' ! ', 'warn'), span(newest, 'warn')], [span(more, 'dim')], width, glyphs.cut);
}
