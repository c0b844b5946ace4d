import { whatChanged } from '../../components/text/reload-report.js';
import { applyDelta } from '../client/apply-delta.js';
import type { OperatorAction, Snapshot, SupervisorClient } from '../client/types.js';
import { answered, clientFor, snapshotOf, type ClientFlags } from './client-flags.js';
import { CommandFailed } from './usage-error.js';
import { idOf, isCalled, whatWasDone } from './what-was-done.js';

/** A measurement that has not begun by then is worth a word. */
const MEASURE_WAIT_MILLIS = 5000;

/**
 * `llm-tui load MODEL` and its kin: the same verbs as the screen's keys, and one line of what came of it. Loading waits
 * until the model is up.
 */
export async function actCommand(
  action: OperatorAction,
  name: string,
  flags: ClientFlags,
  json: boolean,
): Promise<void> {
  await print(flags, async (client) => {
    const before = await snapshotOf(client);
    const result = await answered(client.act(action, name));
    if (!result.ok) throw new CommandFailed(result.message);
    const message =
      action === 'load' || action === 'wake'
        ? await whenLoaded(client, name, before.at)
        : whatWasDone(action, before, name);
    return json ? JSON.stringify({ schema: 1, action, model: idOf(before, name), message }, null, 2) : message;
  });
}

/** Has a model measured again and waits for the outcome: the model's id, and why it could not be measured. */
export async function measuredBySupervisor(
  name: string,
  flags: ClientFlags,
): Promise<{ readonly id: string; readonly error: string | null }> {
  const client = await clientFor(flags);
  try {
    const { models } = await snapshotOf(client);
    const id = models.find((model) => isCalled(model, name))?.id;
    if (id === undefined)
      throw new CommandFailed(`'${name}' is neither a file nor a model of the supervisor; see llm-tui ps.`);
    const sentence = await outcomeOfMeasuring(client, id);
    return { id, error: /could not be measured \((.*)\);/u.exec(sentence)?.[1] ?? null };
  } finally {
    client.close();
  }
}

/** Asks only once decisions are being told: the answer may come at once. */
function outcomeOfMeasuring(client: SupervisorClient, id: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let snapshot: Snapshot | null = null;
    const waiting = setTimeout(() => {
      if (snapshot === null || snapshot.measuringSince !== null) return;
      const why = 'the child that measures needs room on a device, and what is loaded leaves too little';
      process.stderr.write(`${id} waits to be measured: ${why}; unload a model, or stop this with Ctrl-C\n`);
    }, MEASURE_WAIT_MILLIS);
    const end = (error: CommandFailed | null, sentence = ''): void => {
      clearTimeout(waiting);
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
      }
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

/** What became of a load. Follows the supervisor until the model is ready, has failed, or is no longer wanted. */
function whenLoaded(client: SupervisorClient, name: string, since: number): Promise<string> {
  return new Promise((resolve, reject) => {
    let snapshot: Snapshot | null = null;
    const stop = client.subscribe((message) => {
      if (message.type === 'snapshot') snapshot = message.snapshot;
      else if (message.type === 'delta' && snapshot !== null) snapshot = applyDelta(snapshot, message.delta);
      const outcome =
        message.type === 'disconnected' ? new CommandFailed(message.reason) : outcomeOf(snapshot, name, since);
      if (outcome === null) return;
      stop();
      if (typeof outcome === 'string') resolve(outcome);
      else reject(outcome);
    });
  });
}

function outcomeOf(snapshot: Snapshot | null, name: string, since: number): string | CommandFailed | null {
  const model = snapshot?.models.find((known) => isCalled(known, name));
  if (!snapshot || !model) return null;
  if (model.word === 'ready') return `${model.id} is ready`;
  const waits = snapshot.queue.some((entry) => entry.model === model.id);
  if (model.word === 'loading' || waits) return null;
  const failed = model.lastExit !== null && model.lastExit.at >= since ? model.lastExit.reason : null;
  const refused = snapshot.decisions.findLast((decision) => decision.kind === 'refuse' && decision.model === model.id);
  if (failed === null && refused !== undefined && refused.at >= since) return new CommandFailed(refused.sentence);
  return new CommandFailed(`${model.id} is ${model.word}: ${failed ?? 'its load was given up'}`);
}

/** `llm-tui stop`: stops every model and the supervisor, and waits until it has gone. */
export async function stopCommand(flags: ClientFlags): Promise<void> {
  await print(flags, async (client) => {
    const { supervisor } = await snapshotOf(client);
    const result = await answered(client.stopAll());
    if (!result.ok) throw new CommandFailed(result.message);
    await new Promise<void>((resolve) => {
      const stop = client.subscribe((message) => {
        if (message.type !== 'disconnected') return;
        stop();
        resolve();
      });
    });
    return `the supervisor at ${supervisor.url} has been stopped`;
  });
}

/** `llm-tui reload`: what has changed since the models were read last. */
export async function reloadCommand(flags: ClientFlags): Promise<void> {
  await print(flags, async (client) => {
    const result = await client.reload();
    if (!result.ok) throw new CommandFailed(result.message);
    const { errors, ...change } = result.report;
    if (errors.length > 0) throw new CommandFailed(errors.join('\n'));
    return whatChanged(change);
  });
}

/** `llm-tui plan MODEL`: what loading it now would do. */
export async function planCommand(model: string, flags: ClientFlags, json: boolean): Promise<void> {
  await print(flags, async (client) => {
    const plan = await client.plan(model);
    return json ? JSON.stringify({ schema: 1, ...plan }, null, 2) : `${plan.outcome}: ${plan.sentence}`;
  });
}

/** `llm-tui logs MODEL`: the last lines of its process. */
export async function logsCommand(model: string, flags: ClientFlags): Promise<void> {
  await print(flags, async (client) => {
    const lines = await client.logs(model);
    return lines.length > 0 ? lines.join('\n') : `${model} has not said anything yet`;
  });
}

async function print(flags: ClientFlags, read: (client: SupervisorClient) => Promise<string | null>): Promise<void> {
  const client = await clientFor(flags);
  try {
    const text = await read(client);
    if (text !== null) process.stdout.write(`${text}\n`);
  } catch (cause) {
    throw new CommandFailed(cause instanceof Error ? cause.message : String(cause), { cause });
  } finally {
    client.close();
  }
}
