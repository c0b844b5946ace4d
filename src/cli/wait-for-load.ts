import { countText, withoutName } from '../../components/text/format.js';
import { entryFor, stateOf } from '../../components/text/model-state.js';
import { applyDecision, applyDelta } from '../client/apply-delta.js';
import type { ModelView, Snapshot, SupervisorClient } from '../client/types.js';
import { answered, snapshotOf } from './client-flags.js';
import { statusLine, type StatusLine } from './status-line.js';
import { untilInterrupted } from './until-interrupted.js';
import { CommandFailed } from './usage-error.js';

const GIVES_UP: ReadonlySet<string> = new Set(['notice', 'stop']);

/**
 * What became of a load that was accepted, in one sentence; meanwhile what it waits for is told. Whoever interrupts that
 * takes the load back. Throws CommandFailed where it has failed or is given up.
 * @param before how things stood before it was asked for
 */
export async function whenLoaded(client: SupervisorClient, before: Snapshot, id: string): Promise<string> {
  const line = statusLine();
  try {
    return await untilInterrupted(outcomeOfLoad(client, before, id, line), () => takeBack(client, before, id));
  } finally {
    line.clear();
  }
}

/** Follows the supervisor until the model is ready, has failed, or is no longer wanted. */
function outcomeOfLoad(client: SupervisorClient, before: Snapshot, id: string, line: StatusLine): Promise<string> {
  return new Promise((resolve, reject) => {
    let snapshot: Snapshot | null = null;
    const stop = client.subscribe((message) => {
      if (message.type === 'snapshot') snapshot = message.snapshot;
      else if (message.type === 'delta' && snapshot !== null) snapshot = applyDelta(snapshot, message.delta);
      // It comes before the change that it brings about, and says why.
      else if (message.type === 'decision' && snapshot !== null) snapshot = applyDecision(snapshot, message.decision);
      if (message.type === 'decision') return;
      const outcome =
        message.type === 'disconnected' ? new CommandFailed(message.reason) : outcomeOf(snapshot, id, before.at, line);
      if (outcome === null) return;
      stop();
      if (typeof outcome === 'string') resolve(outcome);
      else reject(outcome);
    });
  });
}

function outcomeOf(
  snapshot: Snapshot | null,
  id: string,
  since: number,
  line: StatusLine,
): string | CommandFailed | null {
  const model = snapshot?.models.find((known) => known.id === id);
  if (!snapshot || !model) return null;
  if (model.word === 'ready' && !model.draining) return `${model.id} is ready`;
  if (model.word === 'loading' || entryFor(snapshot, model) !== null) {
    line.tell(sayWait(model, snapshot, line.changes));
    return null;
  }
  const failed = model.lastExit !== null && model.lastExit.at >= since ? model.lastExit.reason : null;
  const refused = snapshot.decisions.findLast((decision) => decision.kind === 'refuse' && decision.model === model.id);
  if (failed === null && refused !== undefined && refused.at >= since) return new CommandFailed(refused.sentence);
  return new CommandFailed(`${model.id} is ${model.word}: ${failed ?? whyGivenUp(snapshot, id, since)}`);
}

/** Whoever had a hand in it is in the latest that was decided of the model. */
function whyGivenUp({ decisions }: Snapshot, id: string, since: number): string {
  const told = decisions.findLast(({ model, kind, at }) => model === id && at >= since && GIVES_UP.has(kind));
  return told === undefined ? 'its load was given up' : withoutName(told.sentence, id);
}

/** `qwen3 is WAITING: short 8.1 GiB on CUDA0; phi-4 is busy (2)`, in the words of the screen. */
function sayWait(model: ModelView, snapshot: Snapshot, withProgress: boolean): string {
  const { word } = stateOf(model, snapshot);
  const progress = withProgress && model.progress !== null ? ` ${Math.round(model.progress * 100)}%` : '';
  const why = withoutName(entryFor(snapshot, model)?.why ?? '', model.id);
  return `${model.id} is ${word}${progress}${why === '' || why === model.word ? '' : `: ${why}`}`;
}

/** What an interrupted command leaves behind: nothing, unless others want the model too. */
async function takeBack(client: SupervisorClient, before: Snapshot, id: string): Promise<string> {
  const wanted = before.queue.find((entry) => entry.model === id)?.wantedBy;
  const wasAskedFor = wanted === 'operator' || wanted === 'startup';
  if (!client.source.can.has('withdraw')) return `the load of ${id} goes on; llm-tui unload ends it`;
  if (wasAskedFor) return `the load of ${id} goes on: it had been asked for before`;
  await answered(client.act('withdraw', id));
  const now = await snapshotOf(client);
  const model = now.models.find((known) => known.id === id);
  if (model?.word === 'ready') return `${id} is ready all the same`;
  const entry = now.queue.find((other) => other.model === id);
  if (entry === undefined) return `the load of ${id} is withdrawn`;
  const others = entry.waiters > 0 ? `${countText(entry.waiters, 'request')} for it` : 'its pin';
  return `the load of ${id} goes on for ${others}`;
}
