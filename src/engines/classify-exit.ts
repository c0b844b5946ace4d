import { GIB, MIB, type Bytes, type DeviceName } from '../scheduler/units.js';
import type { ExitEvidence, ExitVerdict } from './engine.js';

/**
 * What a child's end was, told from its exit code, its signal and the last lines of a llama.cpp log. Memory is
 * looked for first: a load that runs out of it also ends with "failed to load model".
 */
export function classifyExit(evidence: ExitEvidence): ExitVerdict {
  const { exitCode, signal, asked, lastLines } = evidence;
  const verdict = (exitClass: ExitVerdict['exitClass'], reason: string): ExitVerdict => {
    return { exitClass, reason, device: null, askedBytes: null };
  };
  if (asked)
    return verdict(
      'stopped',
      signal === 'SIGKILL' ? 'killed, since it did not leave when told to' : 'left when told to',
    );
  const said = lastLines.filter((line) => !HARMLESS.test(line));
  const memory = readOutOfMemory(said);
  if (memory) return memory;
  const found = CAUSES.flatMap(({ exitClass, pattern }) => {
    const line = said.findLast((text) => pattern.test(text));
    return line === undefined ? [] : [verdict(exitClass, withoutPrefix(line))];
  })[0];
  if (found) return found;
  if (exitCode === null && signal === null) return verdict('crashed', lastLines.at(-1) ?? 'could not be started');
  if (signal === 'SIGKILL') {
    return verdict('killed', 'killed by SIGKILL from outside; often the kernel does that when system memory runs out');
  }
  if (signal === 'SIGTERM' || signal === 'SIGINT' || signal === 'SIGHUP') {
    return verdict('killed', `ended by ${signal} from outside`);
  }
  // A log that is written by a thread of its own loses its last lines then. In a load there is hardly another cause than
  // memory, and one more try with more room costs little.
  if (signal === 'SIGABRT') {
    return verdict(lastLines.some((line) => LISTENS.test(line)) ? 'crashed' : 'out-of-memory', ABORTED);
  }
  return verdict('crashed', signal === null ? `exited with code ${exitCode ?? 'unknown'}` : `crashed with ${signal}`);
}

const ABORTED =
  'crashed with SIGABRT, without saying why; llama.cpp does that when a driver fails, most often since a device has no memory left for its kernels';

/** A child that has come up, in the words of llama-server. */
const LISTENS = /listening on/i;

/** In order of precedence. Wordings of llama.cpp's server and loader, builds of 2024 to 2026. */
const CAUSES: readonly { readonly exitClass: ExitVerdict['exitClass']; readonly pattern: RegExp }[] = [
  {
    exitClass: 'port-in-use',
    pattern: /couldn't bind (?:HTTP server|to server|server) socket|address already in use|EADDRINUSE/i,
  },
  {
    exitClass: 'bad-arguments',
    pattern:
      /^error: (?:invalid|unknown|expected value|unsupported|failed to parse)|error while handling argument|invalid argument:|unknown argument|invalid value .{0,200} for --/i,
  },
  {
    exitClass: 'unreadable-model',
    pattern:
      /failed to open GGUF|invalid magic|unknown model architecture|not within the file bounds|corrupted or incomplete|unsupported file version|only supports up to version|missing tensor|wrong number of tensors|failed to read (?:key-value|tensor|magic)/i,
  },
  { exitClass: 'unreadable-model', pattern: /failed to read header/i },
  // Said by every layer above the one that knows what is wrong.
  { exitClass: 'unreadable-model', pattern: /error loading model|failed to load multimodal/i },
  { exitClass: 'unreadable-model', pattern: /failed to load (?:the )?model/i },
];

/** Information, warnings and debugging, where the log has levels: "0.00.021.359 W …". A query that failed is no load that failed. */
const HARMLESS = /^[\d.]+ [DIW] /;

/** Patterns of memory that ran out, in any backend. */
const OUT_OF_MEMORY =
  /out of memory|outofdevicememory|outofhostmemory|(?:unable|failed) to allocate|std::bad_alloc|insufficient memory|cannot allocate memory|erroroutofmemory|device memory allocation of size|vector::_M_range_check/i;

function readOutOfMemory(lines: readonly string[]): ExitVerdict | null {
  const relevant = lines.filter((line) => OUT_OF_MEMORY.test(line));
  if (relevant.length === 0) return null;
  const device = readLast(relevant, readDevice) ?? readLast(lines, readCurrentDevice);
  const askedBytes = readLast(relevant, readAsked);
  const where = device === null ? '' : ` on ${device}`;
  const asked = askedBytes === null ? '' : `: asked for ${formatBytes(askedBytes)}`;
  return { exitClass: 'out-of-memory', reason: `out of memory${where}${asked}`, device, askedBytes };
}

function readDevice(line: string): DeviceName | null {
  // "unable to allocate CUDA0 buffer", "failed to allocate ROCm1 buffer of size N"
  const named = /allocate ([A-Za-z]+\d+)(?:_\w+)? buffer/.exec(line)?.[1];
  if (named !== undefined) return named;
  if (/allocate (?:CPU|BLAS|\w+_Host)\w* buffer|bad_alloc|ggml_aligned_malloc|mmap failed/i.test(line)) return 'Host';
  // The number is CUDA's own, as ggml names the device. Builds for HIP say the same and name the buffer after it.
  const number = /on device (\d+): cudaMalloc failed/.exec(line)?.[1];
  return number === undefined ? null : `CUDA${number}`;
}

/** "current device: 0, in function …", the line after "CUDA error: out of memory". */
function readCurrentDevice(line: string): DeviceName | null {
  const number = /current device: (\d+), in function/.exec(line)?.[1];
  return number === undefined ? null : `CUDA${number}`;
}

function readAsked(line: string): Bytes | null {
  const mib = /allocating (\d+(?:\.\d+)?) MiB/.exec(line)?.[1] ?? /size = +(\d+(?:\.\d+)?) MiB/.exec(line)?.[1];
  if (mib !== undefined) return toBytes(Number(mib) * MIB);
  const bytes = /(?:buffer of size|allocation of size) (\d+)/.exec(line)?.[1];
  return bytes === undefined ? null : toBytes(Number(bytes));
}

function readLast<T>(lines: readonly string[], read: (line: string) => T | null): T | null {
  for (const line of lines.toReversed()) {
    const value = read(line);
    if (value !== null) return value;
  }
  return null;
}

/** A log is untrusted text: a number in it may be anything. */
function toBytes(value: number): Bytes | null {
  const bytes = Math.round(value);
  return Number.isSafeInteger(bytes) ? bytes : null;
}

function formatBytes(bytes: Bytes): string {
  return bytes >= GIB ? `${(bytes / GIB).toFixed(1)} GiB` : `${(bytes / MIB).toFixed(0)} MiB`;
}

/** Drops the function name and the time in front of a log line. */
function withoutPrefix(line: string): string {
  return line.replace(/^(?:[\d.]+ [A-Z] )?(?:(?:srv|slot|cmn|main)\s+)?(?:\w+: )?(?=\S)/, '').trim() || line;
}
