import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir } from 'node:fs/promises';
import { homedir, tmpdir, userInfo } from 'node:os';
import { dirname, join, resolve } from 'node:path';

/** Where one supervisor keeps its things. One serve at a time owns a state directory. */
export interface Paths {
  readonly stateDirectory: string;
  /** Held by the serve that owns the state directory. */
  readonly lockFile: string;
  /** Where screens and commands reach it; short, since a socket's path may have about 100 bytes. */
  readonly socket: string;
  readonly sampleModels: string;
  /** Ledger of the simulated devices. */
  readonly simulation: string;
  readonly serveLog: string;
  /** Directory of the recorded journals. */
  readonly journal: string;
  /** What is running now, for a supervisor that comes after a killed one. */
  readonly instances: string;
  /** What models were measured and seen to need. */
  readonly measurements: string;
  /** What the engine's programs have said of themselves. */
  readonly binaries: string;
}

/** Paths for the given state directory, or for `$XDG_STATE_HOME/llm-tui`. Touches nothing. */
export function pathsFor(stateDirectory: string | null, env: NodeJS.ProcessEnv = process.env): Paths {
  const state = resolve(stateDirectory ?? join(env['XDG_STATE_HOME'] || join(home(), '.local', 'state'), 'llm-tui'));
  const name = createHash('sha256').update(state).digest('hex').slice(0, 16);
  const runtime = runtimeDirectory(env);
  return {
    stateDirectory: state,
    lockFile: join(state, 'serve.lock'),
    socket: process.platform === 'win32' ? `\\\\.\\pipe\\llm-tui-${name}` : join(runtime, `${name}.sock`),
    sampleModels: join(state, 'sample-models'),
    simulation: join(runtime, `${name}.sim`),
    serveLog: join(state, 'serve.log'),
    journal: join(state, 'journal'),
    instances: join(state, 'instances'),
    measurements: join(state, 'measurements.json'),
    binaries: join(state, 'binaries.json'),
  };
}

/** An empty HOME means none: nothing is written into the directory that the user happens to be in. */
function home(): string {
  return homedir() || userInfo().homedir;
}

function runtimeDirectory(env: NodeJS.ProcessEnv): string {
  const given = env['XDG_RUNTIME_DIR'];
  return given ? join(given, 'llm-tui') : join(tmpdir(), `llm-tui-${userInfo().username}`);
}

/** Makes the directories, for this user alone. Throws one clear sentence when that is not possible. */
export async function preparePaths(paths: Paths): Promise<void> {
  const directories = [paths.stateDirectory];
  if (process.platform !== 'win32') directories.push(join(paths.socket, '..'));
  for (const directory of directories) {
    try {
      await makeDirectory(directory);
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`The directory ${directory} cannot be made (${why}); choose another with --state-dir.`, {
        cause,
      });
    }
    await refuseForeign(directory);
  }
}

/** One level at a time: Node's own way down never ends where a file system takes no directories, as /proc. */
async function makeDirectory(directory: string): Promise<void> {
  try {
    await mkdir(directory, { mode: 0o700 });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (code === 'EEXIST' && (await lstat(directory)).isDirectory()) return;
    const parent = dirname(directory);
    if (code !== 'ENOENT' || parent === directory || (await exists(parent))) throw error;
    await makeDirectory(parent);
    await mkdir(directory, { mode: 0o700 });
  }
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

/** A directory in a place where everybody may write has to be ours: another user could own what we would write to. */
async function refuseForeign(directory: string): Promise<void> {
  if (process.getuid === undefined) return;
  const { uid, mode } = await lstat(directory);
  if (uid !== process.getuid()) {
    throw new Error(
      `The directory ${directory} belongs to another user; set XDG_RUNTIME_DIR or --state-dir to one of yours.`,
    );
  }
  if ((mode & 0o077) !== 0 && directory.startsWith(tmpdir())) {
    await chmod(directory, 0o700).catch((cause: unknown) => {
      throw new Error(notPrivate(directory, cause), { cause });
    });
  }
}

function notPrivate(directory: string, cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : null;
  const why =
    code === 'EROFS' ? 'its file system is read-only' : cause instanceof Error ? cause.message : String(cause);
  return `The directory ${directory} cannot be kept from other users (${why}); choose another with --state-dir.`;
}
