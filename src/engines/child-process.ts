import { execa } from 'execa';
import { LONGEST_TIMER_MILLIS, MIB, type Bytes, type Millis } from '../scheduler/units.js';
import { stripControls } from './control-sequences.js';
import { drain } from './drain.js';
import type { Command, ExitEvidence, OutputReader, OutputStream } from './engine.js';
import { LogRing } from './log-ring.js';
import { EXIT_MESSAGE, type ChildMessage } from './messages.js';
import { forget, killAtExit, killGroup, signalProcess } from './process-group.js';
import { spawnFailure } from './spawn-failure.js';

/** Of a log line no more than this is kept. */
const LONGEST_LOG_LINE_CHARS = 4096;
const MAX_LOG_BYTES = MIB;
const DEFAULT_LOG_LINES = 500;
/** A grandchild in another process group may hold the pipes open: the exit is reported all the same. */
const LAST_OUTPUT_MILLIS: Millis = 500;

export interface SpawnChildOptions {
  readonly command: Command;
  readonly reader: OutputReader;
  /** Log lines kept; default 500. */
  readonly logLines?: number;
  /** What the child said of itself on its stdout. Never called after `onExit`. */
  readonly onMessage: (message: ChildMessage) => void;
  /**
   * Called exactly once, whatever happens, and never before `spawnChild` has returned. A child that could not
   * be started has neither an exit code nor a signal; its last line says why.
   */
  readonly onExit: (evidence: ExitEvidence) => void;
  /** Every other line, safe to print. */
  readonly onLog?: (line: string) => void;
}

export interface StopOptions {
  /** A child that is still loading does not read its stdin: it is signalled. */
  readonly loading: boolean;
  /** After this long the whole process group is killed; 0 kills at once. */
  readonly timeoutMillis: Millis;
}

export interface ChildProcessHandle {
  /** Null when it could not be started. */
  readonly pid: number | null;
  /** The last log lines, oldest first, safe to print. */
  lines(): readonly string[];
  /** Everything that it has printed so far, on both pipes. */
  printedBytes(): Bytes;
  /** Writes a message to the child's stdin; one that has gone, or reads nothing any more, does not get it. */
  send(message: string): void;
  /** Asks the child to leave, and kills its group when it has not within the limit. The earliest limit counts. */
  stop(options: StopOptions): void;
  /** Kills the child and everything in its process group, now. */
  kill(): void;
}

/**
 * Starts a child in its own process group, without a shell, and watches it to its end. Its stdin is a pipe
 * that stays open as long as this process lives: the children of every engine leave when it ends. stdout and
 * stderr are drained all the time, in bounded memory.
 */
export function spawnChild(options: SpawnChildOptions): ChildProcessHandle {
  const { command, reader, onMessage, onExit, onLog } = options;
  const ring = new LogRing(options.logLines ?? DEFAULT_LOG_LINES, MAX_LOG_BYTES);
  let asked = false;
  let ended = false;
  let deadline = Infinity;
  let killTimer: NodeJS.Timeout | undefined;

  const log = (line: string): void => {
    if (ended) return;
    const isLong = line.length > LONGEST_LOG_LINE_CHARS;
    const printable = stripControls(isLong ? `${line.slice(0, LONGEST_LOG_LINE_CHARS - 1)}…` : line);
    ring.push(printable);
    onLog?.(printable);
  };
  const output = (line: string, stream: OutputStream): void => {
    const message = ended ? null : readSafely(reader, line, stream);
    if (message === null) log(line);
    else onMessage(message);
  };
  const report = (exitCode: number | null, signal: string | null): void => {
    if (ended) return;
    ended = true;
    clearTimeout(killTimer);
    onExit({ exitCode, signal, asked, lastLines: ring.lines() });
  };

  const subprocess = startProcess(command);
  if (subprocess instanceof Error) {
    log(spawnFailure(command.file, { originalMessage: subprocess.message }));
    queueMicrotask(() => report(null, null));
    return {
      pid: null,
      lines: () => ring.lines(),
      printedBytes: () => 0,
      send: () => undefined,
      stop: () => undefined,
      kill: () => undefined,
    };
  }
  const node = subprocess.nodeChildProcess;
  const pid = subprocess.pid ?? null;
  const running = (): boolean => pid !== null && node.exitCode === null && node.signalCode === null;
  if (pid !== null) killAtExit(pid);

  // A pipe whose reader has gone says so with an error event; the exit itself is seen elsewhere.
  subprocess.stdin.on('error', () => undefined);
  const pipes = [
    drain(subprocess.stdout, (line) => output(line, 'stdout')),
    drain(subprocess.stderr, (line) => output(line, 'stderr')),
  ];

  node.once('exit', (exitCode, signal) => {
    if (pid !== null) {
      killGroup(pid);
      forget(pid);
    }
    clearTimeout(killTimer);
    for (const pipe of pipes) pipe.finish();
    const drained = Promise.all(pipes.map(({ ended }) => ended));
    void Promise.race([drained, elapsed(LAST_OUTPUT_MILLIS)]).then(() => {
      report(exitCode, signal);
      subprocess.stdout.destroy();
      subprocess.stderr.destroy();
    });
  });
  void subprocess.then((result) => {
    if (pid !== null || ended) return;
    log(spawnFailure(command.file, result));
    report(null, null);
  });

  const kill = (): void => {
    if (pid === null || !running()) return;
    asked = true;
    killGroup(pid);
    if (process.platform === 'win32') subprocess.kill('SIGKILL');
  };

  return {
    pid,
    lines: () => ring.lines(),
    printedBytes: () => pipes.reduce((sum, pipe) => sum + pipe.bytes(), 0),
    kill,
    send(message) {
      if (running() && subprocess.stdin.writable) subprocess.stdin.write(message);
    },
    stop({ loading, timeoutMillis }) {
      if (pid === null || !running()) return;
      asked = true;
      if (timeoutMillis <= 0) {
        kill();
        return;
      }
      if (loading || !subprocess.stdin.writable) signalProcess(pid, 'SIGTERM');
      else subprocess.stdin.write(EXIT_MESSAGE);
      const limit = performance.now() + timeoutMillis;
      if (limit >= deadline) return;
      deadline = limit;
      clearTimeout(killTimer);
      killTimer = setTimeout(kill, Math.min(timeoutMillis, LONGEST_TIMER_MILLIS));
    },
  };
}

/** execa throws at once on what no system could start, such as an argument with a zero byte in it. */
function startProcess(command: Command) {
  try {
    return execa(command.file, command.args, {
      env: command.env,
      extendEnv: false,
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'pipe',
      buffer: false,
      encoding: 'buffer',
      reject: false,
      detached: process.platform !== 'win32',
      killDescendants: process.platform === 'win32',
    });
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** A reader that fails must not take the supervisor down: the line is a log line then. */
function readSafely(reader: OutputReader, line: string, stream: OutputStream): ChildMessage | null {
  try {
    return reader.read(line, stream);
  } catch {
    return null;
  }
}

function elapsed(millis: Millis): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, millis));
}
