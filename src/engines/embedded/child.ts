/**
 * The child of the embedded engine: one model, served over HTTP as llama-server does.
 * `node child.js --model FILE --alias ID --host 127.0.0.1 --port N [options of llama-server]`
 */
import type { Server } from 'node:http';
import { describeMeasured, formatProtocolLine } from '../protocol.js';
import { parseChildArguments, type ChildArguments } from './arguments.js';
import { ChildFailure, formatFailure } from './failure.js';
import { listen } from './http-server.js';
import { loadModel } from './load-model.js';
import { measureModel } from './measure-model.js';
import { createService, type Service } from './service.js';
import { describeModelMeta } from './status-routes.js';
import { obeySupervisor } from './supervised.js';

const USAGE_EXIT_CODE = 2;
/** Smaller steps are not reported: nobody sees them. */
const PROGRESS_STEP = 0.01;

const log = (line: string): void => {
  process.stderr.write(`${line}\n`);
};
const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

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

  const loading = new AbortController();
  let service: Service | null = null;
  let server: Server | null = null;
  obeySupervisor(() => {
    loading.abort(new Error('asked to stop'));
    // Running answers are cut: whoever asks has waited for them, or does not want to.
    server?.closeAllConnections();
    if (service !== null || server === null) process.exit(0);
  }, routerPort !== undefined);

  try {
    server = await listen(args.host, args.port, () => service);
    service = await load(args, loading.signal);
  } catch (error) {
    if (loading.signal.aborted) process.exit(0);
    throw error;
  }
  say(formatProtocolLine('ready', describeReady(service)));
  log(`listening on http://${args.host}:${args.port}`);
}

async function load(args: ChildArguments, signal: AbortSignal): Promise<Service> {
  log(`loading ${args.modelPath}`);
  let reported = -1;
  const report = (value: number): void => {
    if (value - reported < PROGRESS_STEP) return;
    reported = value;
    say(formatProtocolLine('loading', { value: Math.min(1, Number(value.toFixed(3))) }));
  };
  report(0);
  const loaded = await loadModel(args, signal, { onProgress: report, onLog: log });
  signal.throwIfAborted();
  const { contextTokens, work } = loaded;
  log(
    work.kind === 'embed'
      ? `context: ${contextTokens} tokens, for embeddings`
      : `context: ${contextTokens} tokens for each of ${args.parallel} sequences`,
  );
  return createService(args, loaded, log);
}

function describeReady(service: Service): object {
  const { memory } = service.loaded;
  return { id: service.args.alias, meta: describeModelMeta(service), ...(memory === null ? {} : { memory }) };
}

main().catch((error: unknown) => {
  const failure = error instanceof ChildFailure ? error : new ChildFailure('crashed', String(error));
  log(formatFailure(failure));
  process.exit(failure.failureClass === 'bad-arguments' ? USAGE_EXIT_CODE : 1);
});
