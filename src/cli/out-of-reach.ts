import { lockHolder } from '../../native/flock.js';
import type { Paths } from '../supervisor/paths.js';
import { answers } from './listen.js';

/**
 * One sentence where a supervisor has this state directory and nobody answers on its socket: the socket is in the runtime
 * directory, which sessions of one user do not always share (no XDG_RUNTIME_DIR under cron or su), and which cleaners of
 * temporary files empty. Null where none has it, or one answers.
 */
export async function outOfReach(paths: Paths): Promise<string | null> {
  if (await answers(paths.socket)) return null;
  const pid = lockHolder(paths.lockFile);
  if (pid === null) return null;
  return (
    `A supervisor (pid ${pid}) has ${paths.stateDirectory}, but nothing answers at ${paths.socket}: it is still starting, ` +
    `has another XDG_RUNTIME_DIR than this, or that socket was removed; reach it with --url, or end it with kill ${pid}.`
  );
}
