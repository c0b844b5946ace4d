import { readFileSync, statSync } from 'node:fs';
import type { Command } from 'commander';
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
