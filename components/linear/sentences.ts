import type { DeviceView, ModelView, QueueView } from '../../src/client/types.js';
import type { PaneId } from '../../src/store/screen-store.js';
import { doubtShown, type Doubt } from '../text/device-doubt.js';
import { visibleText } from '../text/clean.js';
import { deviceFigures } from '../text/device-figures.js';
import { countText, durationText, idleText, sizeText, staleText, sumBytes, tokensText } from '../text/format.js';
import { titleAsOf } from '../text/last-known.js';
import { loadingText } from '../panes/models.js';
import { stateOf } from '../text/model-state.js';
import { unseenReport } from '../panes/out-of-memory.js';
import { listIds, selectedIndex, type ScreenView } from '../view.js';

/** A device as a sentence: what a bar shows at a glance has to be said. */
export function deviceSentence(device: DeviceView, view: ScreenView): string {
  const doubt = doubtShown(device, view);
  const trust = doubt === null ? '' : sayDoubt(doubt, device.problem);
  if (device.totalBytes === null) return `${device.name}: ${trust}`;
  const { held, reserved, external, free, total, unit } = deviceFigures(device);
  const over = device.overcommitBytes > 0 ? `; overcommitted by ${sizeText(device.overcommitBytes)}` : '';
  return `${device.name}: held ${held}, reserved ${reserved}, external ${external}, free ${free} of ${total} ${unit}${over}${trust === '' ? '' : `; ${trust}`}`;
}

function sayDoubt({ word, millis }: Doubt, problem: string | null): string {
  return `${word}${millis === null ? '' : ` for ${staleText(millis)}`}${problem === null ? '' : `: ${problem}`}`;
}

/** A model's row as a sentence. */
export function modelSentence(model: ModelView, view: ScreenView): string {
  const { word } = stateOf(model, view.snapshot);
  const claim = sumBytes(model.claim);
  const need = claim === null ? [] : [`${model.claimQuality === 'estimate' ? 'about ' : ''}${sizeText(claim)}`];
  const facts = [
    `${word}${model.generation === null || model.devices.length === 0 ? '' : ` on ${model.devices.join(' and ')}`}`,
    ...(model.word === 'loading' ? [loadingText(model, view.now)] : []),
    ...(model.word === 'failed' && model.lastExit !== null ? [model.lastExit.reason] : []),
    ...(model.invalid === null ? [] : [model.invalid]),
    ...need,
    ...(model.contextTokens === null ? [] : [`context ${tokensText(model.contextTokens)}`]),
    ...(model.requests > 0 ? [`${countText(model.requests, 'request')} in flight`] : []),
    ...(model.generation === null || model.word === 'loading' || model.requests > 0 || model.lastUsedAt === null
      ? []
      : [`idle for ${idleText(view.now - model.lastUsedAt)}`]),
    ...(model.pinned ? ['pinned'] : []),
    ...(model.blocked ? ['blocked'] : []),
  ];
  return `${model.id}: ${facts.join(', ')}`;
}

function queueSentence({ position, model, since, why }: QueueView, view: ScreenView): string {
  const reason = why.startsWith(`${model}: `) ? why.slice(model.length + 2) : why;
  return `number ${position}: ${model}, waits for ${durationText(view.now - since)}: ${reason}`;
}

const PANE_NAMES: Readonly<Record<PaneId, string>> = {
  devices: 'devices',
  models: 'models',
  queue: 'queue',
  measure: 'measure queue',
  decisions: 'decisions',
};

/** Which pane has the keys, how far down its selection is, and what that says. */
export function selectionSentence(view: ScreenView): string {
  const { focus } = view.screen;
  const count = listIds(view.lists, focus).length;
  const name = PANE_NAMES[focus];
  if (count === 0) return `${name}: empty`;
  const index = selectedIndex(view.lists, view.screen, focus);
  return index < 0
    ? `${name}: what was selected is gone`
    : `${titleAsOf(`${name} ${index + 1} of ${count}`, view)}: ${rowSentence(view, index)}`;
}

function rowSentence(view: ScreenView, index: number): string {
  const { lists } = view;
  switch (view.screen.focus) {
    case 'devices': {
      const device = lists.devices[index];
      return device === undefined ? '' : deviceSentence(device, view);
    }
    case 'models': {
      const model = lists.models[index];
      return model === undefined ? '' : modelSentence(model, view);
    }
    case 'queue': {
      const entry = lists.queue[index];
      return entry === undefined ? '' : queueSentence(entry, view);
    }
    case 'measure':
      return lists.measure[index] ?? '';
    case 'decisions': {
      const decision = lists.decisions[index];
      return decision === undefined ? '' : `#${decision.number} ${decision.kind}: ${decision.sentence}`;
    }
  }
}

/** What there is to know at first, line by line: devices, what is loaded or on its way, who waits. */
export function summary(view: ScreenView): string[] {
  const { devices, models, queue, supervisor } = view.snapshot;
  const running = models.filter(({ generation }) => generation !== null);
  const lines = [
    `llm-tui at ${view.options.hostLabel ?? supervisor.url}, engine ${supervisor.engine.name}${supervisor.engine.simulated ? ', simulated' : ''}`,
    ...devices.map((device) => deviceSentence(device, view)),
    `${models.length === 0 ? 'no models' : countText(models.length, 'model')}, ${running.length === 0 ? 'none running' : `${running.length} running:`}`,
    ...running.map((model) => modelSentence(model, view)),
    queue.length === 0 ? 'nobody waits' : `${countText(queue.length, 'model')} waited for:`,
    ...queue.map((entry) => queueSentence(entry, view)),
    ...supervisor.notices.map((notice) => `notice: ${notice}`),
    ...view.options.earlierEnds.slice(-1),
    ...reportLines(view),
    'Up and Down go through a list, Tab to the next one, Enter opens, ? tells all keys, q leaves.',
  ];
  return lines.map(visibleText);
}

/** That a model has run out of memory, as long as nobody has asked how. */
export function reportLines(view: ScreenView): string[] {
  const report = unseenReport(view);
  return report === null ? [] : [`${report.model} ran out of memory: ! tells who held it and what would help`];
}
