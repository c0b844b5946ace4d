import type { Measurement } from '../../src/engines/engine.js';
import type { MeasuredResult } from '../../src/engines/messages.js';
import { watch } from './node-child.js';

/** Runs the children of a measurement one after another to a result, as the supervisor does. */
export async function runMeasurement(made: Measurement | undefined): Promise<MeasuredResult> {
  if (made === undefined) throw new Error('this engine does not measure');
  const found: MeasuredResult[] = [];
  const read = (line: string): null => {
    const result = made.read(line);
    if (result !== null) found.push(result);
    return null;
  };
  for (let command = made.command; ;) {
    const evidence = await watch(command, { reader: { read } }).exited;
    const after = found[0] ?? made.ended(evidence);
    if ('result' in after) return after;
    command = after;
  }
}
