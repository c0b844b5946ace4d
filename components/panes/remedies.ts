import { readDevices } from '../../src/client/read-devices.js';
import type { Bytes, Decision, ModelView, OutOfMemoryReport, ReadDeviceView } from '../../src/client/types.js';
import { countText, idleText, sizeText } from '../text/format.js';
import { shellWord } from '../text/shell.js';
import type { ScreenView } from '../view.js';

/** Something that would help, and what it would do. */
export interface Remedy {
  /** Ready to run; null: there is nothing to type. */
  readonly command: string | null;
  readonly effect: string;
}

/** More would be a menu, not advice. */
const REMEDIES_MOST = 3;

const MIB = 1024 * 1024;
/** Margins are told in round numbers. */
const MARGIN_STEP_MIB = 256;
const DEFAULT_URL = 'http://127.0.0.1:8080';

/** What would help a model that has run out of memory, by what is loaded and free now; the most useful first. */
export function remediesFor(view: ScreenView, report: OutOfMemoryReport, record: Decision | null): readonly Remedy[] {
  const model = view.snapshot.models.find(({ id }) => id === report.model);
  const figures = shortDevice(report, record);
  const device = readDevices(view.snapshot.devices).find(({ name }) => name === figures?.device);
  if (model === undefined) return [{ command: null, effect: 'Nothing: the model has left the catalog.' }];
  const prevention = preventions(view, report, device, figures?.needBytes ?? 0);
  if (model.generation !== null) {
    const what = model.word === 'ready' ? 'It has come up since' : `It is ${model.word} now`;
    return [{ command: null, effect: `${what}: nothing has to be done.` }, ...prevention].slice(0, REMEDIES_MOST);
  }
  if (figures === undefined || device === undefined) return prevention;
  const short = figures.needBytes - availableNow(device);
  const run = (words: string): string => commandLine(view, words);
  if (short <= 0) {
    const effect = `fits now: it needs ${sizeText(figures.needBytes)} on ${device.name}, ${sizeText(availableNow(device))} is free for it`;
    return [{ command: run(`load ${shellWord(model.id)}`), effect }, ...prevention].slice(0, REMEDIES_MOST);
  }
  const alone = device.totalBytes - device.marginBytes;
  const tooLarge = figures.needBytes > alone - device.externalBytes;
  const smaller: Remedy = {
    command: run(`measure ${shellWord(model.id)}`),
    effect: `does not fit on ${device.name} as it is, even alone: this says what it needs; a smaller ctx-size or fewer n-gpu-layers in its preset need less`,
  };
  const others = tooLarge && figures.needBytes <= alone ? [endOthers(device)] : [];
  return (
    tooLarge ? [...others, smaller, ...prevention] : [...makeRoom(view, model, device, short, run), ...prevention]
  ).slice(0, REMEDIES_MOST);
}

/** The device that was short of most. */
function shortDevice(report: OutOfMemoryReport, record: Decision | null): Decision['ledger'][number] | undefined {
  const ledger = record?.ledger ?? [];
  return (
    ledger.find(({ device }) => device === report.device) ??
    ledger.toSorted((a, b) => b.deficitBytes - a.deficitBytes)[0]
  );
}

/** With what is on its way back: it was the dying one's, mostly, and that is to be loaded again. */
function availableNow(device: ReadDeviceView): number {
  return device.freeBytes + device.releasingBytes - device.overcommitBytes - device.marginBytes;
}

/** Programs that are not ours are not ours to end; whose they are is said as far as it is known. */
function endOthers({ name, externalBytes, foreign }: ReadDeviceView): Remedy {
  const largest = foreign[0];
  const who =
    largest === undefined
      ? ''
      : `, most of it ${largest.name === '' ? 'a program' : largest.name} (pid ${largest.pid}) with ${sizeText(largest.bytes)}`;
  return {
    command: null,
    effect: `Other programs hold ${sizeText(externalBytes)} on ${name}${who}: without them it would fit.`,
  };
}

/** Who would have to go: as few as possible, idle ones first; then those that are busy, then those that are pinned. */
function makeRoom(
  view: ScreenView,
  model: ModelView,
  device: ReadDeviceView,
  short: Bytes,
  run: (words: string) => string,
): Remedy[] {
  const gives = ({ claim }: ModelView): Bytes => claim[device.name] ?? 0;
  const others = view.snapshot.models.filter(
    (other) => other.id !== model.id && other.generation !== null && other.word !== 'stopping' && gives(other) > 0,
  );
  const idle = others
    .filter(({ pinned, requests, word }) => !pinned && requests === 0 && word !== 'loading')
    .toSorted((a, b) => (a.lastUsedAt ?? 0) - (b.lastUsedAt ?? 0));
  const chosen = enough(idle, gives, short);
  const left = short - chosen.reduce((sum, other) => sum + gives(other), 0);
  const some = (of: readonly ModelView[]): ModelView[] =>
    left <= 0 ? [] : of.toSorted((a, b) => gives(b) - gives(a)).slice(0, 1);
  const busy = some(others.filter(({ pinned, requests }) => !pinned && requests > 0));
  const pinned = some(others.filter((other) => other.pinned));
  let above: Bytes = 0;
  let count = 0;
  const remedy = (other: ModelView, verb: 'unload' | 'unpin', remark: string): Remedy => {
    const bytes = gives(other);
    const effect = `gives ${sizeText(bytes)} on ${device.name}: ${comesTo(bytes, above, count, short)}${remark}`;
    above += bytes;
    count += 1;
    return { command: run(`${verb} ${shellWord(other.id)}`), effect };
  };
  return [
    ...chosen.map((other) =>
      remedy(other, 'unload', other.lastUsedAt === null ? '' : `; idle for ${idleText(view.now - other.lastUsedAt)}`),
    ),
    ...busy.map((other) => remedy(other, 'unload', `; leaves once its ${countText(other.requests, 'request')} ended`)),
    ...pinned.map((other) => remedy(other, 'unpin', '; pinned models never leave by themselves')),
  ];
}

/** Whether something is enough, by itself or with what stands above it. */
function comesTo(bytes: Bytes, above: Bytes, count: number, short: Bytes): string {
  if (bytes >= short) return 'enough by itself';
  const missing = `${sizeText(short - above - bytes)} would still be missing`;
  if (count === 0) return `not enough by itself, ${missing}`;
  const together = `together with ${count === 1 ? 'the one' : `the ${count}`} above`;
  return above + bytes >= short ? `enough ${together}` : `${together} ${missing}`;
}

/** The single smallest that suffices, else the least recently used ones together until they do. */
function enough(idle: readonly ModelView[], gives: (model: ModelView) => Bytes, short: Bytes): readonly ModelView[] {
  const alone = idle.filter((model) => gives(model) >= short).toSorted((a, b) => gives(a) - gives(b))[0];
  if (alone !== undefined) return [alone];
  const chosen: ModelView[] = [];
  let missing = short;
  for (const model of idle) {
    if (missing <= 0) break;
    chosen.push(model);
    missing -= gives(model);
  }
  return chosen;
}

/**
 * What would keep it from happening again: a margin for what other programs were seen to take within the minute, if that
 * leaves room for what the model needs.
 */
function preventions(
  view: ScreenView,
  report: OutOfMemoryReport,
  device: ReadDeviceView | undefined,
  needBytes: Bytes,
): Remedy[] {
  if (device === undefined) return [];
  const grown = report.changes
    .filter((change) => change.model === null && change.device === device.name)
    .reduce((sum, { fromBytes, toBytes }) => sum + toBytes - fromBytes, 0);
  if (grown <= 0) return [];
  const wantedMib = (device.marginBytes + grown) / MIB;
  const margin = Math.ceil(wantedMib / MARGIN_STEP_MIB) * MARGIN_STEP_MIB;
  if (needBytes > device.totalBytes - margin * MIB) return [];
  return [
    {
      command: `${view.options.program} --models-memory-margin ${margin}`,
      effect: `at the next start: other programs took ${sizeText(grown)} meanwhile, and this keeps as much more free on every device`,
    },
  ];
}

/** As it has to be typed here, for the supervisor that is shown. */
function commandLine(view: ScreenView, words: string): string {
  const { url } = view.snapshot.supervisor;
  return `${view.options.program} ${words}${url === DEFAULT_URL || url === '' ? '' : ` --url ${url}`}`;
}
