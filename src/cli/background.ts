import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import type { SupervisorEnd } from '../client/types.js';
import { preparePaths, type Paths } from '../supervisor/paths.js';
import { argsForServe } from './args-for-serve.js';
import type { StartMessage } from './serve-command.js';
import { AlreadyRunning, CommandFailed, UsageError } from './usage-error.js';

/**
 * V8 keeps the room for young objects that it once needed. With a limit a busy supervisor has less resident afterwards;
 * at rest from the start there is hardly a difference. It can only be said when Node starts; a `serve` that the user
 * starts keeps Node's own limit.
 */
const NODE_ARGS = ['--max-semi-space-size=2'];

const SHELL = '/bin/sh';

/**
 * Runs its arguments whenever it is told to, and tells how each run ended. A screen lowers its own priority and cannot
 * raise it again, and whatever it starts has the same: so what starts supervisors is started before that.
 */
const STARTER = 'while read -r _; do "$@" </dev/null 4>&-; echo $? >&4; done';
/** Its descriptor for that. */
const ENDS = 4;

/** What a shell adds to the number of the signal that has ended a program (POSIX: more than 128). */
const SIGNALLED = 128;

/**
 * A supervisor in the background, in a process session of its own, so that the end of the terminal is not its end. It can
 * be started again once it has ended.
 */
export class BackgroundSupervisor {
  readonly #paths: Paths;
  readonly #args: readonly string[];
  readonly #listeners = new Set<(end: SupervisorEnd) => void>();
  #starter: ChildProcess | null = null;
  #started: ((message: StartMessage) => void) | null = null;

  /** @param args the command line of the screen, which is that of the supervisor as well */
  constructor(args: readonly string[], paths: Paths) {
    this.#args = args;
    this.#paths = paths;
  }

  /** Until it serves. Throws UsageError, AlreadyRunning or CommandFailed with the sentence that it failed with. */
  async start(): Promise<void> {
    await preparePaths(this.#paths).catch((cause: unknown) => {
      throw new UsageError(cause instanceof Error ? cause.message : String(cause), { cause });
    });
    const message = await new Promise<StartMessage>((resolve) => {
      this.#started = resolve;
      this.#run();
    });
    this.#started = null;
    if (message.type === 'ready') return;
    if (message.alreadyRunning === true) throw new AlreadyRunning(message.message);
    throw message.exitCode === 2 ? new UsageError(message.message) : new CommandFailed(message.message);
  }

  /** Called when it ends, once it was started. Returns the function that ends that. */
  onEnd(listener: (end: SupervisorEnd) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #run(): void {
    if (existsSync(SHELL)) {
      this.#starter ??= this.#spawnStarter();
      this.#starter.stdin?.write('start\n');
    } else {
      raisePriority();
      const [program = '', ...args] = this.#command();
      const child = this.#spawn(program, args, 'ignore');
      child.once('exit', (exitCode, signal) => this.#hasEnded(exitCode, signal));
    }
  }

  #spawnStarter(): ChildProcess {
    const starter = this.#spawn(SHELL, ['-c', STARTER, 'llm-tui', ...this.#command()], 'pipe');
    starter.once('exit', () => (this.#starter = null));
    starter.stdio[ENDS]?.on('data', (code: Buffer) => {
      const status = Number(code);
      const signal = Object.entries(constants.signals).find(([, number]) => number + SIGNALLED === status)?.[0] ?? null;
      this.#hasEnded(signal === null ? status : null, signal);
    });
    return starter;
  }

  /** @param talk `pipe`: it is told when to run, and tells how that ended */
  #spawn(file: string, args: readonly string[], talk: 'pipe' | 'ignore'): ChildProcess {
    const log = openSync(this.#paths.serveLog, 'a', 0o600);
    const child = spawn(file, args, {
      detached: true,
      stdio: [talk, log, log, 'ipc', talk],
      env: { ...process.env, ...argsForServe(this.#args).secrets },
    });
    closeSync(log);
    child.on('message', (message) => this.#started?.(message as StartMessage));
    child.on('error', ({ message }) => this.#started?.({ type: 'failed', message, exitCode: 1 }));
    child.unref();
    return child;
  }

  #command(): readonly string[] {
    const { argv } = argsForServe(this.#args);
    return [process.execPath, ...NODE_ARGS, process.argv[1] ?? '', 'serve', ...argv, '--owned'];
  }

  #hasEnded(exitCode: number | null, signal: string | null): void {
    const message = `The supervisor ended while starting; see ${this.#paths.serveLog}.`;
    this.#started?.({ type: 'failed', message, exitCode: 1 });
    const end = { at: Date.now(), exitCode, signal, log: this.#paths.serveLog };
    for (const listener of this.#listeners) listener(end);
  }
}

/** Where a program may have its priority back. */
function raisePriority(): void {
  try {
    setPriority(constants.priority.PRIORITY_NORMAL);
  } catch {
    // Then it goes on as low as it is.
  }
}
