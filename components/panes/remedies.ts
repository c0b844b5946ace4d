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
  const prevention = preventions(view, report, device);
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
  const rooms = makeRoom(view, model, device, short, run);
  const smaller: Remedy = {
    command: run(`measure ${shellWord(model.id)}`),
    effect: `does not fit on ${device.name} as it is, even alone: this says what it needs; a smaller ctx-size or fewer n-gpu-layers in its preset need less`,
  };
  const others = tooLarge && figures.needBytes <= alone ? [endOthers(device)] : [];
  return (tooLarge ? [...others, smaller, ...prevention, ...rooms] : [...rooms, ...prevention]).slice(0, REMEDIES_MOST);
}

/** The device that was short of most. */
function shortDevice(report: OutOfMemoryReport, record: Decision | null): Decision['ledger'][number] | undefined {
  const ledger = record?.ledger ?? [];
  return (
    ledger.find(({ device }) => device === report.device) ??
    ledger.toSorted((a, b) => b.deficitBytes - a.deficitBytes)[0]
  );
}

function availableNow(device: ReadDeviceView): number {
  return device.freeBytes - device.overcommitBytes - device.marginBytes;
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
  const effectOf = (other: ModelView, missing: Bytes): string =>
    `gives ${sizeText(gives(other))} on ${device.name}: ${missing <= 0 ? 'enough' : `${sizeText(missing)} would still be missing`}`;
  let missing = short;
  const unloads = chosen.map((other): Remedy => {
    missing -= gives(other);
    const idleFor = other.lastUsedAt === null ? '' : `; idle for ${idleText(view.now - other.lastUsedAt)}`;
    return { command: run(`unload ${shellWord(other.id)}`), effect: `${effectOf(other, missing)}${idleFor}` };
  });
  if (left <= 0) return unloads;
  const busy = others.filter(({ pinned, requests }) => !pinned && requests > 0).toSorted((a, b) => gives(b) - gives(a));
  const pinned = others.filter((other) => other.pinned).toSorted((a, b) => gives(b) - gives(a));
  return [
    ...unloads,
    ...busy.slice(0, 1).map((other) => ({
      command: run(`unload ${shellWord(other.id)}`),
      effect: `${effectOf(other, left - gives(other))}; leaves once its ${countText(other.requests, 'request')} ended`,
    })),
    ...pinned.slice(0, 1).map((other) => ({
      command: run(`unpin ${shellWord(other.id)}`),
      effect: `${effectOf(other, left - gives(other))}; pinned models never leave by themselves`,
    })),
  ];
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

/** What would keep it from happening again: a margin for what other programs were seen to take within the minute. */
function preventions(view: ScreenView, report: OutOfMemoryReport, device: ReadDeviceView | undefined): Remedy[] {
  if (device === undefined) return [];
  const grown = report.changes
    .filter((change) => change.model === null && change.device === device.name)
    .reduce((sum, { fromBytes, toBytes }) => sum + toBytes - fromBytes, 0);
  if (grown <= 0) return [];
  const wantedMib = (device.marginBytes + grown) / MIB;
  const margin = Math.ceil(wantedMib / MARGIN_STEP_MIB) * MARGIN_STEP_MIB;
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
