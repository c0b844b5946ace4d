import { execa } from 'execa';
import type { OptionTable } from '../../catalog/option-table.js';
import type { Millis } from '../../scheduler/units.js';
import { parseHelp } from './parse-help.js';

const LIMIT_MILLIS: Millis = 10_000;
/** Fewer options than this are no llama-server's. */
const PLAUSIBLE_OPTIONS = 20;

/** Asks a llama-server what it understands, by its `--help`; null when it does not say so in time. */
export async function readOptionTable(binary: string): Promise<OptionTable | null> {
  const { stdout, stderr } = await execa(binary, ['--help'], {
    stdin: 'ignore',
    reject: false,
    timeout: LIMIT_MILLIS,
    killSignal: 'SIGKILL',
    // A driver library that is loaded must not be given a reason to start anything on a device.
    env: { CUDA_VISIBLE_DEVICES: '' },
  });
  const table = parseHelp(`${stdout}\n${stderr}`);
  return table.length < PLAUSIBLE_OPTIONS ? null : table;
}
