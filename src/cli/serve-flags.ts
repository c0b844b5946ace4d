import { readFileSync, statSync } from 'node:fs';
import { Option, type Command } from 'commander';
import { visibleText } from '../../components/text/clean.js';
import { DEFAULT_CORS, type CorsPolicy } from '../router/cors.js';
import type { TlsFiles } from '../router/router.js';
import type { AdmissionMode, PolicyName } from '../scheduler/state.js';
import { MIB, type Bytes, type Millis } from '../scheduler/units.js';
import { flagsKey } from './args-for-serve.js';
import { readCors } from './cors-flags.js';
import { readTlsFiles } from './tls-files.js';
import { UsageError } from './usage-error.js';
import { yesOrNoOf } from './variables.js';

/** What `serve` is started with. */
export interface ServeFlags {
  readonly host: string;
  readonly port: number;
  readonly modelsDir: string | null;
  readonly modelsPreset: string | null;
  readonly modelsMax: number;
  readonly marginBytes: Bytes;
  readonly hostMarginBytes: Bytes | null;
  readonly autoload: boolean;
  readonly apiKeys: readonly string[];
  readonly engine: 'auto' | 'llama-server' | 'embedded' | 'sim';
  readonly llamaServer: string | null;
  readonly simDevices: string | null;
  readonly sampleModels: boolean;
  readonly stateDir: string | null;
  readonly maxWaitMillis: Millis;
  readonly queueMax: number;
  /** For models whose preset says nothing; 0: never. */
  readonly idleTimeoutMillis: Millis;
  /** Reads the models again when a source of theirs changes. */
  readonly watch: boolean;
  readonly queueTimeoutMillis: Millis;
  readonly policy: PolicyName;
  readonly admission: AdmissionMode;
  readonly minResidencyMillis: Millis;
  /** 0: no limit. */
  readonly loadTimeoutMillis: Millis;
  /** 0: no limit. */
  readonly hangTimeoutMillis: Millis;
  readonly killHung: boolean;
  readonly maxBodyBytes: Bytes;
  readonly cors: CorsPolicy;
  /** Reuses a port that others listen on as well, who said the same. */
  readonly reusePort: boolean;
  readonly tls: TlsFiles | null;
  /** With a slash before and none behind; empty: none. */
  readonly prefix: string;
  readonly pageDirectory: string | null;
  /** How long a child may be silent in the middle of a request; 0: for ever. */
  readonly timeoutMillis: Millis;
  /** The file; empty: one in the state directory; null: requests are not logged. */
  readonly logRequests: string | null;
  /** All journal files together at most; 0: nothing is recorded. */
  readonly journalBytes: Bytes;
  readonly onClose: 'stop' | 'detach';
  /** See flagsKey. */
  readonly startedWith: string;
  /** Set by a screen that starts this supervisor in the background. */
  readonly owned: boolean;
}

/** Headings of the help, with the flags below each. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  'Models:': [
    '--models-dir',
    '--models-preset',
    '--sample-models',
    '--watch',
    '--models-max',
    '--models-autoload',
    '--no-models-autoload',
    '--idle-timeout',
  ],
  'Listening:': [
    ...['--host', '--port', '--reuse-port', '--api-key', '--api-key-file', '--ssl-key-file', '--ssl-cert-file'],
    ...['--api-prefix', '--path', '--max-body'],
  ],
  'Memory and waiting:': [
    '--models-memory-margin',
    '--host-memory-margin',
    '--policy',
    '--admission',
    '--min-residency',
    '--max-wait',
    '--queue-timeout',
    '--queue-max',
  ],
  'Engine:': ['--load-timeout', '--hang-timeout', '--kill-hung', '--engine', '--llama-server', '--sim-devices'],
  'This supervisor:': ['--state-dir', '--no-journal', '--journal-size', '--on-close'],
};

function groupOf(flag: string): string {
  return Object.keys(GROUPS).find((heading) => GROUPS[heading]?.includes(flag)) ?? 'Options:';
}

/** Adds the flags of the router, with llama-server's names and variables where it has them. */
export function addServeFlags(command: Command): Command {
  const flag = (flags: string, description: string, variable?: string): Option => {
    const option = new Option(flags, description);
    return variable === undefined ? option : option.env(variable);
  };
  const options = [
    flag('--models-dir <dir>', 'directory with GGUF models', 'LLAMA_ARG_MODELS_DIR'),
    flag('--models-preset <file>', 'INI file with models and their options', 'LLAMA_ARG_MODELS_PRESET'),
    flag('--sample-models', 'write three small random-weight models and serve them'),
    flag('--host <address>', 'address to listen on', 'LLAMA_ARG_HOST').default('127.0.0.1'),
    flag('--port <port>', 'port to listen on; 0 picks a free one', 'LLAMA_ARG_PORT').default('8080'),
    flag('--api-key <keys>', 'keys that clients need, separated by commas', 'LLAMA_API_KEY'),
    flag('--api-key-file <file>', 'file with one key a line', 'LLAMA_ARG_API_KEY_FILE'),
    flag('--reuse-port', 'share the port with others who say the same'),
    flag('--ssl-key-file <file>', 'private key (PEM), to speak TLS', 'LLAMA_ARG_SSL_KEY_FILE'),
    flag('--ssl-cert-file <file>', 'its certificate (PEM)', 'LLAMA_ARG_SSL_CERT_FILE'),
    flag('--api-prefix <path>', 'what stands before every path, e.g. /llm', 'LLAMA_ARG_API_PREFIX'),
    flag('--path <dir>', 'files of a page, which is served beside the API', 'LLAMA_ARG_STATIC_PATH'),
    flag(
      '--models-max <n>',
      'models loaded at the same time at most; 0: memory alone decides',
      'LLAMA_ARG_MODELS_MAX',
    ).default('0'),
    flag(
      '--models-memory-margin <MiB>',
      'memory kept free on each device; 0: memory never limits',
      'LLAMA_ARG_MODELS_MEMORY_MARGIN',
    ).default('1024'),
    flag(
      '--host-memory-margin <MiB>',
      'the same for system memory (default: 1024 where there is no other device, else 0)',
    ),
    flag('--models-autoload', 'requests load models (the default)'),
    flag('--no-models-autoload', 'requests never load models, unless they say autoload=true'),
    flag('--engine <name>', 'how models are run').choices(['auto', 'llama-server', 'embedded', 'sim']).default('auto'),
    flag('--llama-server <path>', 'the llama-server to run models with', 'LLAMA_SERVER'),
    flag('--sim-devices <list>', 'devices of the sim engine, e.g. CUDA0=24GiB,CUDA1=24GiB'),
    flag('--max-wait <seconds>', 'after this long a waiting model makes a busy one take no new requests').default('30'),
    flag('--policy <name>', 'who leaves first').choices(['lru', 'lru-any-device', 'cost']).default('lru'),
    flag('--admission <mode>', 'what becomes of a model that would have to wait')
      .choices(['wait', 'refuse', 'proceed'])
      .default('wait'),
    flag('--min-residency <seconds>', 'a model that has been up for less is not evicted').default('0'),
    flag(
      '--idle-timeout <seconds>',
      'a model without requests for so long is unloaded, unless its preset says otherwise; 0: never',
    ).default('0'),
    flag('--watch', 'read the models again when the preset file or the models directory changes'),
    flag('--queue-timeout <seconds>', 'a request waits for so long at most; 0: no limit').default('0'),
    flag('--queue-max <n>', 'requests that may wait at the same time; 0: no limit').default('256'),
    flag('--load-timeout <seconds>', 'a load that gives no sign of life for so long is stopped; 0: no limit').default(
      '300',
    ),
    flag(
      '--hang-timeout <seconds>',
      'a model that has work and gives no sign of life for so long is reported; 0: never',
    ).default('120'),
    flag('--kill-hung', 'and killed'),
    flag(
      '--timeout <seconds>',
      'a model that says nothing for so long fails its request; 0: no limit',
      'LLAMA_ARG_TIMEOUT',
    ).default('0'),
    flag(
      '--cors-origins <origins>',
      'pages that may call: *, localhost, or an origin',
      'LLAMA_ARG_CORS_ORIGINS',
    ).default(DEFAULT_CORS.origins),
    flag('--cors-methods <methods>', 'methods that they may use', 'LLAMA_ARG_CORS_METHODS').default(
      DEFAULT_CORS.methods,
    ),
    flag('--cors-headers <headers>', 'headers that they may send', 'LLAMA_ARG_CORS_HEADERS').default(
      DEFAULT_CORS.headers,
    ),
    flag('--cors-credentials', 'they may send credentials (the default)'),
    flag('--no-cors-credentials', 'they may not'),
    flag('--log-requests [file]', 'one line of JSON for each request, without bodies and keys'),
    flag('--max-body <MiB>', 'largest request body; 0: no limit').default('64'),
    flag('--state-dir <dir>', 'where pins, logs, journal and sample models are kept'),
    flag('--no-journal', 'do not record what the scheduler is told and decides; see llm-tui replay'),
    flag('--journal-size <MiB>', 'all files of the journal together at most; 0: none').default('32'),
    flag('--on-close <what>', 'when a screen that started the supervisor vanishes')
      .choices(['stop', 'detach'])
      .default('stop'),
    flag('--owned', 'stop when the screen that started this has gone').hideHelp(),
  ];
  for (const option of options) command.addOption(option.helpGroup(groupOf(option.long ?? '')));
  return command;
}

/** Reads the flags that commander has parsed. Throws UsageError with one sentence on a value that cannot be. */
export function readServeFlags(command: Command, args: readonly string[]): ServeFlags {
  const given = command.opts<Record<string, string | boolean | undefined>>();
  const text = (name: string): string | null => {
    const value = given[name];
    return typeof value === 'string' && value !== '' ? value : null;
  };
  const whole = (name: string, flag: string, max: number): number => {
    const value = text(name) ?? '';
    const number = Number(value);
    if (/^\d+$/u.test(value) && number <= max) return number;
    throw new UsageError(`${flag} takes a whole number from 0 to ${max}, not '${visibleText(value)}'.`);
  };
  const yesOrNo = (name: string, variable: `LLAMA_ARG_${string}`): boolean | null => {
    // llama-server reads its variables first, and starts with none that it cannot read.
    const said = yesOrNoOf(variable);
    return typeof given[name] === 'boolean' ? given[name] : said;
  };
  const hostMargin =
    text('hostMemoryMargin') === null ? null : whole('hostMemoryMargin', '--host-memory-margin', 1e9) * MIB;
  return {
    host: text('host') ?? '127.0.0.1',
    port: whole('port', '--port', 65_535),
    modelsDir: text('modelsDir'),
    modelsPreset: text('modelsPreset'),
    modelsMax: whole('modelsMax', '--models-max', 100_000),
    marginBytes: whole('modelsMemoryMargin', '--models-memory-margin', 1e9) * MIB,
    hostMarginBytes: hostMargin,
    autoload: yesOrNo('modelsAutoload', 'LLAMA_ARG_MODELS_AUTOLOAD') ?? true,
    apiKeys: [...keysIn(given['apiKey']), ...keysInFile(text('apiKeyFile'))],
    engine: (text('engine') ?? 'auto') as ServeFlags['engine'],
    llamaServer: text('llamaServer'),
    simDevices: text('simDevices'),
    sampleModels: given['sampleModels'] === true,
    stateDir: text('stateDir'),
    maxWaitMillis: whole('maxWait', '--max-wait', 1e6) * 1000,
    queueTimeoutMillis: whole('queueTimeout', '--queue-timeout', 1e6) * 1000,
    idleTimeoutMillis: whole('idleTimeout', '--idle-timeout', 1e6) * 1000,
    watch: given['watch'] === true,
    policy: (text('policy') ?? 'lru') as PolicyName,
    admission: (text('admission') ?? 'wait') as AdmissionMode,
    minResidencyMillis: whole('minResidency', '--min-residency', 1e6) * 1000,
    queueMax: whole('queueMax', '--queue-max', 1e6) || Number.MAX_SAFE_INTEGER,
    loadTimeoutMillis: whole('loadTimeout', '--load-timeout', 1e6) * 1000,
    hangTimeoutMillis: whole('hangTimeout', '--hang-timeout', 1e6) * 1000,
    killHung: given['killHung'] === true,
    maxBodyBytes: whole('maxBody', '--max-body', 1e5) * MIB || Number.MAX_SAFE_INTEGER,
    cors: readCors(
      { origins: text('corsOrigins'), methods: text('corsMethods'), headers: text('corsHeaders') },
      yesOrNo('corsCredentials', 'LLAMA_ARG_CORS_CREDENTIALS') ?? DEFAULT_CORS.credentials,
    ),
    reusePort: yesOrNo('reusePort', 'LLAMA_ARG_REUSE_PORT') ?? false,
    tls: readTlsFiles(text('sslKeyFile'), text('sslCertFile')),
    prefix: prefixOf(text('apiPrefix') ?? ''),
    pageDirectory: directoryOf(text('path')),
    timeoutMillis: whole('timeout', '--timeout', 1e6) * 1000,
    logRequests: given['logRequests'] === true ? '' : text('logRequests'),
    journalBytes: given['journal'] === false ? 0 : whole('journalSize', '--journal-size', 1e6) * MIB,
    onClose: text('onClose') === 'detach' ? 'detach' : 'stop',
    startedWith: flagsKey(args),
    owned: given['owned'] === true,
  };
}

function prefixOf(given: string): string {
  const prefix = given.replace(/\/+$/u, '');
  if (prefix === '' || /^(?:\/[\w.~-]+)+$/u.test(prefix)) return prefix;
  throw new UsageError(`--api-prefix takes a path that begins with a slash, like /llm, not '${visibleText(given)}'.`);
}

function directoryOf(path: string | null): string | null {
  if (path === null || statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return path;
  throw new UsageError(`--path ${path} is no directory.`);
}

/** Throws UsageError for a key that was meant and is not there: everybody would get in. */
function keysIn(given: unknown): readonly string[] {
  if (typeof given !== 'string') return [];
  const keys = keysOf(given.split(','));
  // A variable that is set to nothing is how many switch it off.
  if (keys.length > 0 || process.env['LLAMA_API_KEY'] === given) return keys;
  throw new UsageError('--api-key is empty, so that everybody would get in; leave it out if that is meant.');
}

function keysOf(words: readonly string[]): readonly string[] {
  return words.map((key) => key.trim()).filter(Boolean);
}

function keysInFile(path: string | null): readonly string[] {
  if (path === null) return [];
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new UsageError(`--api-key-file ${path} cannot be read (${why}).`, { cause });
  }
  const keys = keysOf(text.split(/\r?\n/u));
  if (keys.length > 0) return keys;
  throw new UsageError(`--api-key-file ${path} has no key in it, so that everybody would get in.`);
}
