import { lstat, mkdtemp, rmdir, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { hfCacheDirectory } from '../../catalog/hf-cache/cache-directory.js';
import type { Paths } from '../../supervisor/paths.js';
import { sizeText } from '../../../components/text/format.js';
import type { Finding, Level } from './finding.js';

const MIB = 1024 * 1024;
/** Journal and log may take tens of MiB; a model takes gigabytes. */
const STATE_LEAST_BYTES = 100 * MIB;
const CACHE_LEAST_BYTES = 2048 * MIB;

/** Whether what a supervisor writes has a place. Nothing is left there. */
export async function lookAtDirectories(paths: Paths): Promise<readonly Finding[]> {
  const isOnPipe = process.platform === 'win32';
  return Promise.all([
    lookAt('state', paths.stateDirectory, STATE_LEAST_BYTES, 'fail', 'choose another with --state-dir'),
    ...(isOnPipe
      ? []
      : [lookAt('runtime', dirname(paths.socket), 0, 'fail', 'set XDG_RUNTIME_DIR to a directory of yours')]),
    lookAt(
      'model cache',
      hfCacheDirectory(process.env),
      CACHE_LEAST_BYTES,
      'warn',
      'set HF_HOME; it is only needed for downloads',
    ),
  ]);
}

async function lookAt(name: string, directory: string, least: number, level: Level, fix: string): Promise<Finding> {
  const found = (is: Level, text: string, what: string | null): Finding => {
    return { area: 'places', name, level: is, text: `${directory} ${text}`, fix: what };
  };
  const problem = await whyUnusable(directory);
  if (problem !== null) return found(level, problem, fix);
  const { bavail, bsize } = await statfs(await existing(directory));
  const free = bavail * bsize;
  if (free < least) return found('warn', `has only ${sizeText(free)} left`, 'make room');
  return found('ok', `can be written; ${sizeText(free)} left`, null);
}

/** Only trying tells: rights, read-only file systems, and those that take no files. */
async function whyUnusable(directory: string): Promise<string | null> {
  try {
    const there = await existing(directory);
    const { uid } = await lstat(there);
    if (there === directory && process.getuid !== undefined && uid !== process.getuid()) {
      return 'belongs to another user';
    }
    await rmdir(await mkdtemp(join(there, '.llm-tui-doctor-')));
    return null;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    return `cannot be written (${code})`;
  }
}

/** The directory, or the nearest above it that is there. */
async function existing(directory: string): Promise<string> {
  const is = await lstat(directory).then(
    () => true,
    () => false,
  );
  return is || dirname(directory) === directory ? directory : existing(dirname(directory));
}
