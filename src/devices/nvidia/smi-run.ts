import { execa } from 'execa';
import type { Millis } from '../../scheduler/units.js';
import { ProbeAbsent } from '../probe.js';

const MAX_OUTPUT_CHARACTERS = 4 * 1024 * 1024;

/**
 * Runs nvidia-smi once and returns its rows of comma-separated fields, trimmed. Rejects with the driver's own
 * words when it fails (it prints them on stdout), and after `limitMillis` even when the program cannot be
 * killed, as happens with a lost GPU; `settled` then tells when it has really gone.
 */
export function runNvidiaSmi(
  file: string,
  query: readonly string[],
  limitMillis: Millis,
): { readonly rows: Promise<readonly (readonly string[])[]>; readonly settled: Promise<unknown> } {
  const subprocess = execa(file, [...query, '--format=csv,noheader,nounits'], {
    stdin: 'ignore',
    reject: false,
    killSignal: 'SIGKILL',
    // The fields are found by place, the errors by number; neither should depend on the user's language.
    env: { LC_ALL: 'C' },
    maxBuffer: MAX_OUTPUT_CHARACTERS,
  });
  const finished = subprocess.then((result) => {
    if (result.code === 'ENOENT') throw new ProbeAbsent(`${file} was not found.`);
    if (result.exitCode !== 0) throw new Error(describeFailure(file, result), { cause: result });
    return result.stdout
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => line.split(',').map((field) => field.trim()));
  });
  const limit = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    subprocess.kill('SIGKILL');
    limit.reject(new Error(`${file} did not answer within ${limitMillis / 1000} s.`));
  }, limitMillis);
  const settled = finished.then(
    () => clearTimeout(timer),
    () => clearTimeout(timer),
  );
  return { rows: Promise.race([finished, limit.promise]), settled };
}

interface Failure {
  readonly code?: string | undefined;
  readonly exitCode?: number | undefined;
  readonly signal?: string | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

function describeFailure(file: string, failure: Failure): string {
  const words = `${failure.stdout}\n${failure.stderr}`
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .slice(0, 4)
    .join(' ');
  if (words !== '') return words;
  if (failure.exitCode !== undefined) return `${file} failed with exit code ${failure.exitCode} and said nothing.`;
  return `${file} could not be run (${failure.signal ?? failure.code ?? 'unknown error'}).`;
}
