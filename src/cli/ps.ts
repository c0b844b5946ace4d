import { doubtAbout, doubtText, isKnownByClaims } from '../../components/text/device-doubt.js';
import { visibleText } from '../../components/text/clean.js';
import { requestsText, stateOf } from '../../components/text/model-state.js';
import { deviceFigures } from '../../components/text/device-figures.js';
import type { Bytes, DeviceView, Millis, ModelView, Snapshot } from '../client/types.js';
import { alignColumns } from './table.js';
import { clientFor, snapshotOf, type ClientFlags } from './client-flags.js';

/** `llm-tui ps`: devices, models and queue, as the screen shows them; `--json` is the whole snapshot. */
export async function psCommand(flags: ClientFlags, json: boolean): Promise<void> {
  const client = await clientFor(flags);
  try {
    const snapshot = await snapshotOf(client);
    const text = (): string => (client.source.kind === 'router' ? describeRouter(snapshot) : describe(snapshot));
    process.stdout.write(json ? `${JSON.stringify(snapshot, null, 2)}\n` : text());
  } finally {
    client.close();
  }
}

function describe(snapshot: Snapshot): string {
  const { devices, models, queue, supervisor } = snapshot;
  const lines = [
    `llm-tui ${supervisor.version} at ${supervisor.url}, engine ${supervisor.engine.name}`,
    '',
    ...alignColumns([
      ['DEVICE', 'HELD', 'RESERVED', 'EXTERNAL', 'FREE', 'TOTAL', ''],
      ...devices.map((device) => deviceCells(device, snapshot.at)),
    ]),
    ...devices.flatMap(({ name, problem }) =>
      problem === null ? [] : [`${name} cannot be read: ${printable(problem)}`],
    ),
    '',
    ...alignColumns([
      ['MODEL', 'STATE', 'ON', 'GiB', 'REQ', ''],
      ...models.map((model) => [
        printable(model.id) + (model.pinned ? ' *' : ''),
        stateOf(model, snapshot).word + (model.progress === null ? '' : ` ${Math.round(model.progress * 100)}%`),
        ...memoryCells(model),
        requestsText(model, snapshot).text,
        printable(reasonOf(model)),
      ]),
    ]),
    ...(queue.length === 0
      ? []
      : ['', 'waiting:', ...queue.map((entry) => `  ${entry.position}. ${printable(entry.why)}`)]),
    ...noticeLines(supervisor.notices),
  ];
  return `${lines.join('\n')}\n`;
}

/** Where it needs memory, and how much on each of these: memory of different devices is never one amount. */
function memoryCells({ claim, claimQuality, devices }: ModelView): readonly string[] {
  const amounts = devices.map((name) => gib(claim[name] ?? 0)).join('+');
  return [devices.join('+'), (claimQuality === 'estimate' ? '~' : '') + (amounts || '-')];
}

/** A row of figures, and what must be known of them. `now` is the supervisor's clock, which need not be ours. */
function deviceCells(device: DeviceView, now: Millis): readonly string[] {
  const doubt = doubtAbout(device, now);
  const remark = doubt !== null ? doubtText(doubt) : isKnownByClaims(device) ? 'by claims' : '';
  if (device.totalBytes === null) return [device.name, ...Array<string>(5).fill('-'), remark];
  const { held, reserved, external, free, total, unit } = deviceFigures(device);
  return [device.name, held, reserved, external, free, `${total} ${unit}`, remark];
}

/** What a llama-server router tells, which is little. */
function describeRouter({ models, supervisor }: Snapshot): string {
  const lines = [
    `llama-server router ${printable(supervisor.version)} at ${supervisor.url}`,
    '',
    ...alignColumns([
      ['MODEL', 'STATE', 'CTX', ''],
      ...models.map((model) => [
        printable(model.id),
        model.word.toUpperCase() + (model.progress === null ? '' : ` ${Math.round(model.progress * 100)}%`),
        String(model.contextTokens ?? ''),
        printable(reasonOf(model)),
      ]),
    ]),
    ...noticeLines(supervisor.notices),
  ];
  return `${lines.join('\n')}\n`;
}

/** The latest ones, and how many there are beside them. */
function noticeLines(notices: readonly string[]): readonly string[] {
  if (notices.length === 0) return [];
  const more = notices.length - NOTICES_SHOWN;
  return [
    '',
    more > 0 ? `notices (the latest ${NOTICES_SHOWN} of ${notices.length}):` : 'notices:',
    ...notices.slice(-NOTICES_SHOWN).map((notice) => `  ${printable(notice)}`),
  ];
}

/** Why a model cannot run or be used, or has failed. */
function reasonOf(model: ModelView): string {
  if (model.invalid !== null) return model.invalid;
  if (model.blocked) return 'blocked: requests for it are refused';
  return model.word === 'failed' ? (model.lastExit?.reason ?? '') : '';
}

function gib(bytes: Bytes): string {
  return (bytes / 1024 ** 3).toFixed(1);
}

const NOTICES_SHOWN = 5;
const LONGEST_NAME = 60;

/** Names come from files and clients: nothing in them may move the cursor, or turn the line round. */
function printable(text: string): string {
  const clean = visibleText(text);
  return clean.length > LONGEST_NAME * 4 ? `${clean.slice(0, LONGEST_NAME * 4)}…` : clean;
}
