import type { ModelId, ModelView, QueueView, Snapshot } from '../../src/client/types.js';
import type { Tone } from '../theme/tones.js';

/** What of a snapshot tells whether a model is waited for. */
type Waits = Pick<Snapshot, 'queue'>;

/** Entries by model, made once for each queue: every row of a frame looks into it, and both may be long. */
const entriesOf = new WeakMap<Snapshot['queue'], ReadonlyMap<ModelId, QueueView>>();

/** A model's entry in the queue; null: nobody wants it, or it is up. */
export function entryFor({ queue }: Waits, { id }: Pick<ModelView, 'id'>): QueueView | null {
  const entries = entriesOf.get(queue) ?? new Map(queue.map((entry) => [entry.model, entry]));
  entriesOf.set(queue, entries);
  return entries.get(id) ?? null;
}

/** The state as a word, with what matters more than the state itself. */
export function stateOf(model: ModelView, snapshot: Waits): { readonly word: string; readonly tone: Tone } {
  if (model.hungSince !== null && model.word === 'ready') return { word: 'HUNG', tone: 'bad' };
  if (model.draining && model.word !== 'stopping') return { word: 'DRAINING', tone: 'warn' };
  const word = model.word.toUpperCase();
  switch (model.word) {
    case 'ready':
      return { word, tone: 'good' };
    case 'loading':
      return { word, tone: 'busy' };
    case 'stopping':
      return { word, tone: 'warn' };
    case 'sleeping':
    case 'parked':
      return { word, tone: 'plain' };
    case 'invalid':
      return { word, tone: 'bad' };
    case 'failed':
    case 'unloaded':
      // What it is asked for now counts more than how it came to be out.
      if (entryFor(snapshot, model) !== null) return { word: 'WAITING', tone: 'warn' };
      if (model.word === 'failed') return { word, tone: 'bad' };
      return model.blocked ? { word: 'BLOCKED', tone: 'warn' } : { word, tone: 'dim' };
  }
}

/** `2`: so many are being answered; `+3`: so many wait; `2+3`; `-`: it is not loaded, and nobody waits. */
export function requestsText(model: ModelView, snapshot: Waits): { readonly text: string; readonly tone: Tone } {
  const waiters = entryFor(snapshot, model)?.waiters ?? 0;
  const running = model.generation === null ? '' : String(model.requests);
  if (waiters > 0) return { text: `${running === '0' ? '' : running}+${waiters}`, tone: 'warn' };
  return { text: running === '' ? '-' : running, tone: model.requests > 0 ? 'busy' : 'plain' };
}
