import type { OptionTable } from '../../catalog/option-table.js';
import type { Millis } from '../../scheduler/units.js';
import { askProgram } from './ask-program.js';
import { parseBufferVerbosity, parseHelp } from './parse-help.js';

const LIMIT_MILLIS: Millis = 8_000;
const LONGEST_QUOTE = 100;
/** Fewer options than this are no llama-server's. */
const PLAUSIBLE_OPTIONS = 20;

export interface Help {
  /** Null when it does not say in time what it understands. */
  readonly options: OptionTable | null;
  /** See `parseBufferVerbosity`. */
  readonly bufferVerbosity: number | null;
  /** Why it is no llama-server, for a sentence that begins with its path; null when it takes a model. */
  readonly objection: string | null;
}

/** Asks a program of llama.cpp what it understands, by its `--help`. */
export async function readHelp(binary: string): Promise<Help> {
  // A driver library that is loaded must not be given a reason to start anything on a device.
  const environment = { CUDA_VISIBLE_DEVICES: '' };
  const { stdout, stderr, isLate } = await askProgram(binary, '--help', environment, LIMIT_MILLIS);
  const text = `${stdout}\n${stderr}`;
  const options = parseHelp(text);
  const objection = !/--model\b/u.test(text) ? objectionTo(text, isLate) : null;
  if (options.length < PLAUSIBLE_OPTIONS) return { options: null, bufferVerbosity: null, objection };
  return { options, bufferVerbosity: parseBufferVerbosity(text), objection };
}

function objectionTo(text: string, isLate: boolean): string {
  if (isLate) return `has not answered --help for ${LIMIT_MILLIS / 1000} s`;
  const [said = ''] = text.split('\n').flatMap((line) => line.replace(/[\p{Cc}\p{Cf}\uFFFD]/gu, '').trim() || []);
  const quoted = said === '' ? 'nothing' : `"${said.slice(0, LONGEST_QUOTE)}"`;
  return `does not name --model when asked for --help (it said ${quoted})`;
}
