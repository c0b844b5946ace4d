import { execa } from 'execa';
import type { OptionTable } from '../../catalog/option-table.js';
import type { Millis } from '../../scheduler/units.js';
import { parseBufferVerbosity, parseHelp } from './parse-help.js';

const LIMIT_MILLIS: Millis = 10_000;
/** Fewer options than this are no llama-server's. */
const PLAUSIBLE_OPTIONS = 20;

export interface Help {
  /** Null when it does not say in time what it understands. */
  readonly options: OptionTable | null;
  /** See `parseBufferVerbosity`. */
  readonly bufferVerbosity: number | null;
}

/** Asks a program of llama.cpp what it understands, by its `--help`. */
export async function readHelp(binary: string): Promise<Help> {
  const { stdout, stderr } = await execa(binary, ['--help'], {
    stdin: 'ignore',
    reject: false,
    timeout: LIMIT_MILLIS,
    killSignal: 'SIGKILL',
    // A driver library that is loaded must not be given a reason to start anything on a device.
    env: { CUDA_VISIBLE_DEVICES: '' },
  });
  const text = `${stdout}\n${stderr}`;
  const options = parseHelp(text);
  if (options.length < PLAUSIBLE_OPTIONS) return { options: null, bufferVerbosity: null };
  return { options, bufferVerbosity: parseBufferVerbosity(text) };
}
