import { execa } from 'execa';
import type { Millis } from '../../scheduler/units.js';
import { forget, killAtExit, killGroup } from '../process-group.js';

/** What a program said of itself. */
export interface Said {
  readonly stdout: string;
  readonly stderr: string;
  /** Null when it was killed, or could not be run. */
  readonly exitCode: number | null;
  /** It had not ended in time, or something that it had started had not; all of it was killed. */
  readonly isLate: boolean;
}

const LARGEST_ANSWER_BYTES = 4 * 1024 * 1024;

/** Runs a program that is to say something and end. Whatever it starts is in its process group and goes with it. Never rejects. */
export async function askProgram(
  file: string,
  question: string,
  environment: Readonly<Record<string, string>>,
  limitMillis: Millis,
): Promise<Said> {
  const running = execa(file, [question], {
    stdin: 'ignore',
    reject: false,
    detached: process.platform !== 'win32',
    maxBuffer: LARGEST_ANSWER_BYTES,
    env: environment,
  });
  const { pid } = running;
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    if (pid !== undefined) killGroup(pid);
  }, limitMillis);
  if (pid !== undefined) killAtExit(pid);
  const { stdout, stderr, exitCode } = await running;
  clearTimeout(timer);
  if (pid !== undefined) forget(pid);
  return { stdout, stderr, exitCode: exitCode ?? null, isLate };
}
