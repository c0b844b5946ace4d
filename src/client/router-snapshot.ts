import type { Millis, ModelView, ModelWord, Snapshot } from './types.js';

/** What a router said of itself (`GET /props`), and where it is. */
export interface RouterFacts {
  readonly url: string;
  readonly props: unknown;
}

type Json = Readonly<Record<string, unknown>>;

/** What is not known stays out: a screen that looks at a router draws none of it. */
const UNTOLD =
  'A llama-server router tells which models run, but not what they hold, who waits, or why; load and unload work.';

/**
 * What a llama-server router tells (`GET /models` of builds of 2026), as a snapshot. Devices, queue and decisions are
 * empty, for it tells none. The reply is untrusted: entries without an id are left out.
 */
export function routerSnapshot({ url, props }: RouterFacts, reply: unknown, at: Millis): Snapshot {
  const { data } = record(reply);
  const { build_info: build, max_instances: most } = record(props);
  return {
    schema: 1,
    at,
    modelsMax: typeof most === 'number' ? most : 0,
    devices: [],
    models: Array.isArray(data) ? data.flatMap((entry) => modelOf(record(entry))) : [],
    queue: [],
    measureQueue: [],
    measuringSince: null,
    decisions: [],
    shuttingDown: false,
    supervisor: {
      version: typeof build === 'string' ? build : '',
      pid: 0,
      startedAt: 0,
      url,
      host: URL.parse(url)?.hostname ?? '',
      engine: { name: 'llama-server router', reason: 'told by the router itself', simulated: false },
      startedWith: '',
      sources: [],
      notices: [UNTOLD],
    },
  };
}

function modelOf(entry: Json): readonly ModelView[] {
  const { id, aliases, meta } = entry;
  if (typeof id !== 'string' || id === '') return [];
  const status = record(entry['status']);
  const word = wordOf(status);
  const { n_ctx: context } = record(meta);
  const isUp = word === 'ready' || word === 'loading' || word === 'sleeping';
  return [
    {
      id,
      aliases: Array.isArray(aliases) ? aliases.filter((alias) => typeof alias === 'string') : [],
      word,
      pinned: false,
      blocked: false,
      invalid: null,
      devices: [],
      claim: {},
      claimQuality: 'estimate',
      memory: { status: 'unmeasured', measured: null, observed: null },
      resident: {},
      contextTokens: typeof context === 'number' ? context : null,
      // A router numbers nothing; it is only told apart whether something runs.
      generation: isUp ? 1 : null,
      pid: null,
      requests: 0,
      lastUsedAt: null,
      loadingSince: null,
      progress: progressOf(status['progress']),
      loadMillis: null,
      draining: false,
      hungSince: null,
      lastStop: null,
      lastExit: word === 'failed' ? exitOf(status) : null,
    },
  ];
}

function wordOf({ value, failed }: Json): ModelWord {
  switch (value) {
    case 'loaded':
      return 'ready';
    case 'loading':
      return 'loading';
    case 'sleeping':
      return 'sleeping';
    default:
      return failed === true ? 'failed' : 'unloaded';
  }
}

function progressOf(progress: unknown): number | null {
  const value = typeof progress === 'number' ? progress : record(progress)['value'];
  return typeof value === 'number' && value >= 0 && value <= 1 ? value : null;
}

function exitOf({ exit_code: code }: Json): ModelView['lastExit'] {
  const exitCode = typeof code === 'number' ? code : null;
  return {
    at: 0,
    generation: 1,
    duringLoad: false,
    exitClass: 'crashed',
    exitCode,
    signal: null,
    reason: exitCode === null ? 'it failed; the router does not say how' : `it ended with exit code ${exitCode}`,
    device: null,
    lastLines: [],
  };
}

function record(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}
