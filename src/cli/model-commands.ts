import { whatChanged } from '../../components/text/reload-report.js';
import type { ModelId, OperatorAction, Snapshot, SupervisorClient } from '../client/types.js';
import { alreadySo, isComing } from './already-so.js';
import { answered, clientFor, snapshotOf, type ClientFlags } from './client-flags.js';
import { knownId } from './known-id.js';
import { statusLine } from './status-line.js';
import { untilInterrupted } from './until-interrupted.js';
import { CommandFailed } from './usage-error.js';
import { whenLoaded } from './wait-for-load.js';
import { whatWasDone } from './what-was-done.js';

/**
 * `llm-tui load MODEL` and its kin: the same verbs as the screen's keys, and one line of what came of it. Loading waits
 * until the model is up.
 */
export async function actCommand(
  action: Exclude<OperatorAction, 'withdraw'>,
  name: string,
  flags: ClientFlags,
  json: boolean,
): Promise<void> {
  await print(flags, async (client) => {
    const before = await snapshotOf(client);
    const id = knownId(before, name);
    const message = alreadySo(action, before, id) ?? (await act(client, action, before, id));
    return json ? toJson({ action, model: id, message }) : message;
  });
}

/** Does it, and tells what came of it; a load that is under way is joined. */
async function act(
  client: SupervisorClient,
  action: Exclude<OperatorAction, 'withdraw'>,
  before: Snapshot,
  id: ModelId,
): Promise<string> {
  if (action !== 'load' || !isComing(before, id)) {
    const result = await answered(client.act(action, id));
    if (!result.ok) throw new CommandFailed(result.message + placeOf(before, id), { code: 'refused' });
  }
  return action === 'load' || action === 'wake' ? whenLoaded(client, before, id) : whatWasDone(action, before, id);
}

function toJson(answer: object): string {
  return JSON.stringify({ schema: 1, ...answer }, null, 2);
}

/** Where to put right a model that cannot run as it is described. */
function placeOf({ models }: Snapshot, id: ModelId): string {
  const model = models.find((known) => known.id === id);
  return model?.invalid == null || model.origin === undefined ? '' : `; it is described at ${model.origin}`;
}

/** `llm-tui stop`: stops every model and the supervisor, and waits until it has gone. */
export async function stopCommand(flags: ClientFlags, json: boolean): Promise<void> {
  await print(flags, async (client) => {
    if (!client.source.can.has('stop')) {
      throw new CommandFailed(
        'a supervisor is stopped on its own machine, through its socket: llm-tui stop without --url, ' +
          'with the --state-dir that it was started with',
      );
    }
    const { supervisor } = await snapshotOf(client);
    const result = await answered(client.stopAll());
    if (!result.ok) throw new CommandFailed(result.message);
    const line = statusLine();
    line.tell('its models are stopped, then the supervisor ends');
    const goesOn = `the supervisor at ${supervisor.url} goes on stopping`;
    await untilInterrupted(whenGone(client), () => Promise.resolve(goesOn)).finally(() => line.clear());
    const message = `the supervisor at ${supervisor.url} has been stopped`;
    return json ? toJson({ action: 'stop', url: supervisor.url, message }) : message;
  });
}

function whenGone(client: SupervisorClient): Promise<void> {
  return new Promise((resolve) => {
    const stop = client.subscribe((message) => {
      if (message.type !== 'disconnected') return;
      stop();
      resolve();
    });
  });
}

/** `llm-tui reload`: what has changed since the models were read last. */
export async function reloadCommand(flags: ClientFlags, json: boolean): Promise<void> {
  await print(flags, async (client) => {
    const result = await client.reload();
    if (!result.ok) throw new CommandFailed(result.message);
    const { errors, ...change } = result.report;
    if (errors.length > 0) throw new CommandFailed(errors.join('\n'));
    return json ? toJson({ action: 'reload', ...change, message: whatChanged(change) }) : whatChanged(change);
  });
}

/** `llm-tui plan MODEL`: what loading it now would do. */
export async function planCommand(model: string, flags: ClientFlags, json: boolean): Promise<void> {
  await print(flags, async (client) => {
    const plan = await client.plan(knownId(await snapshotOf(client), model));
    return json ? toJson(plan) : `${plan.outcome}: ${plan.sentence}`;
  });
}

/** `llm-tui logs MODEL`: the last lines of its process. */
export async function logsCommand(model: string, flags: ClientFlags, json: boolean): Promise<void> {
  await print(flags, async (client) => {
    const id = knownId(await snapshotOf(client), model);
    const lines = await client.logs(id);
    if (json) return toJson({ model: id, lines });
    return lines.length > 0 ? lines.join('\n') : `${model} has not said anything yet`;
  });
}

async function print(flags: ClientFlags, read: (client: SupervisorClient) => Promise<string | null>): Promise<void> {
  const client = await clientFor(flags);
  try {
    const text = await read(client);
    if (text !== null) process.stdout.write(`${text}\n`);
  } catch (cause) {
    if (cause instanceof CommandFailed) throw cause;
    throw new CommandFailed(cause instanceof Error ? cause.message : String(cause), { cause });
  } finally {
    client.close();
  }
}
