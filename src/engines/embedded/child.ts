/**
 * The child of the embedded engine: one model, served over HTTP as llama-server does.
 * `node child.js --model FILE --alias ID --host 127.0.0.1 --port N [options of llama-server]`
 */
import type { Server } from 'node:http';
import { describeMeasured, formatProtocolLine } from '../protocol.js';
import { parseChildArguments } from './arguments.js';
import { ChildFailure, formatFailure } from './failure.js';
import { listen } from './http/http-server.js';
import { measureModel } from './model/measure-model.js';
import { startService } from './start-service.js';
import type { Service } from './service.js';
import { obeySupervisor } from './supervised.js';

const USAGE_EXIT_CODE = 2;

const log = (line: string): void => {
  process.stderr.write(`${line}\n`);
};
const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

/** Ends the process with the reason on its last line, where the engine looks for it. */
function giveUp(error: unknown): never {
  const failure = error instanceof ChildFailure ? error : new ChildFailure('crashed', String(error));
  log(formatFailure(failure));
  process.exit(failure.failureClass === 'bad-arguments' ? USAGE_EXIT_CODE : 1);
}

async function main(): Promise<void> {
  const { LLAMA_SERVER_CHILD_ROLE: role = 'instance', LLAMA_SERVER_ROUTER_PORT: routerPort } = process.env;
  if (role !== 'instance' && role !== 'measure') {
    throw new ChildFailure('bad-arguments', `A child of the embedded engine cannot take the role '${role}'.`);
  }
  const args = parseChildArguments(process.argv.slice(2), process.env);
  args.notices.forEach(log);

  if (role === 'measure') {
    obeySupervisor(() => process.exit(0), routerPort !== undefined);
    const { memory, trainedContextTokens } = await measureModel(args, log);
    say(formatProtocolLine('measuring', describeMeasured(memory, memory, trainedContextTokens)));
    process.exit(0);
  }

  const stopping = new AbortController();
  let loads = 0;
  let server: Server | null = null;
  let service: Service | null = null;
  const stop = (): void => {
    stopping.abort(new Error('asked to stop'));
    // Running answers are cut: whoever asks has waited for them, or does not want to.
    server?.closeAllConnections();
    // A load in progress sees the signal, and ends the process once it has let go.
    if (loads === 0) process.exit(0);
  };
  obeySupervisor(stop, routerPort !== undefined, () => service?.residency.sleepNow());
  const endUnlessAsked = (error: unknown): never => {
    if (stopping.signal.aborted) process.exit(0);
    giveUp(error);
  };

  try {
    server = await listen(args.host, args.port, () => service);
    service = await startService(args, stopping.signal, {
      log,
      say,
      onLoad: (change) => (loads += change),
      onFailure: endUnlessAsked,
    });
  } catch (error) {
    endUnlessAsked(error);
  }
  log(`listening on http://${args.host}:${args.port}`);
}

main().catch(giveUp);
