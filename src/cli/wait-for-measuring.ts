import { countText } from '../../components/text/format.js';
import { applyDelta } from '../client/apply-delta.js';
import type { ModelId, Snapshot, SupervisorClient } from '../client/types.js';
import { answered, clientFor, snapshotOf, type ClientFlags } from './client-flags.js';
import { nearNames } from './known-id.js';
import { resolveModel } from '../catalog/resolve.js';
import { statusLine, type StatusLine } from './status-line.js';
import { untilInterrupted } from './until-interrupted.js';
import { CommandFailed } from './usage-error.js';

/**
 * Has a model measured again and waits for the outcome, while it is told what for: the model's id, and why it could not be
 * measured. Throws Interrupted by Ctrl-C.
 */
export async function measuredBySupervisor(
  name: string,
  flags: ClientFlags,
): Promise<{ readonly id: string; readonly error: string | null }> {
  const client = await clientFor(flags);
  const line = statusLine();
  try {
    const { models } = await snapshotOf(client);
    const id = resolveModel(models, name)?.id;
    if (id === undefined)
      throw new CommandFailed(`'${name}' is neither a file nor a model of the supervisor; ${nearNames(models, name)}`);
    const goesOn = `${id} is measured all the same, as soon as there is room for that`;
    const sentence = await untilInterrupted(outcomeOfMeasuring(client, id, line), () => Promise.resolve(goesOn));
    return { id, error: /could not be measured \((.*)\);/u.exec(sentence)?.[1] ?? null };
  } finally {
    line.clear();
    client.close();
  }
}

/** Asks only once decisions are being told: the answer may come at once. */
function outcomeOfMeasuring(client: SupervisorClient, id: ModelId, line: StatusLine): Promise<string> {
  return new Promise((resolve, reject) => {
    let snapshot: Snapshot | null = null;
    const end = (error: CommandFailed | null, sentence = ''): void => {
      stop();
      if (error === null) resolve(sentence);
      else reject(error);
    };
    let asked = false;
    const stop = client.subscribe((message) => {
      if (message.type === 'disconnected') end(new CommandFailed(message.reason));
      if (message.type === 'snapshot') snapshot = message.snapshot;
      if (message.type === 'delta' && snapshot !== null) snapshot = applyDelta(snapshot, message.delta);
      if (message.type === 'decision' && message.decision.kind === 'measure' && message.decision.model === id) {
        end(null, message.decision.sentence);
        return;
      }
      if (snapshot?.measureQueue.includes(id) === true) line.tell(sayWait(snapshot, id));
      if (message.type !== 'snapshot' || asked) return;
      asked = true;
      answered(client.act('measure', id)).then(
        (result) => {
          // One that is under way already ends the same way.
          const isUnderWay = !result.ok && result.message.includes('is being measured already');
          if (!result.ok && !isUnderWay) end(new CommandFailed(result.message));
        },
        (error: unknown) => end(error instanceof CommandFailed ? error : new CommandFailed(String(error))),
      );
    });
  });
}

function sayWait({ measureQueue, measuringSince }: Snapshot, id: ModelId): string {
  const before = measureQueue.indexOf(id);
  if (before === 0 && measuringSince !== null) return `${id} is being measured`;
  if (before > 0) return `${id} waits to be measured: ${countText(before, 'model')} first`;
  return `${id} waits to be measured: the child that measures needs room on a device; to unload a model may make it`;
}
