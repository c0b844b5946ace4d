import { spawnChild } from '../engines/child-process.js';
import { renameInResult } from '../engines/device-names.js';
import type { Command, Measurement } from '../engines/engine.js';
import type { MeasuredResult } from '../engines/messages.js';

const CANCELLED: MeasuredResult = { result: 'failed', error: 'cancelled' };

/** Notes that a child runs; the returned function notes that it has ended. */
export type NoteChild = (pid: number | null, command: Command) => () => void;

/** Asks one child after the other until one has an answer. Resolves when no child of it runs any more. */
export async function runMeasurement(
  measurement: Measurement,
  signal: AbortSignal,
  note: NoteChild = () => () => undefined,
): Promise<MeasuredResult> {
  let command = measurement.command;
  for (;;) {
    if (signal.aborted) return CANCELLED;
    const said = await ask(command, measurement, signal, note);
    if ('result' in said) return said;
    command = said;
  }
}

/** One child to its end: its result, or whatever follows from its having ended without one. */
function ask(
  command: Command,
  measurement: Measurement,
  signal: AbortSignal,
  note: NoteChild,
): Promise<MeasuredResult | Command> {
  return new Promise((resolve) => {
    let result: MeasuredResult | null = null;
    const kill = (): void => handle.kill();
    const handle = spawnChild({
      command,
      reader: {
        read(line, stream) {
          // Nothing that it says afterwards counts, and nothing that it still does is wanted.
          if (stream === 'stdout') result ??= measurement.read(line);
          if (result !== null) kill();
          return null;
        },
      },
      onMessage: () => undefined,
      onExit: (evidence) => {
        signal.removeEventListener('abort', kill);
        forget();
        const said = result ?? measurement.ended(evidence);
        resolve('result' in said ? renameInResult(said, command.deviceNames ?? {}) : said);
      },
    });
    const forget = note(handle.pid, command);
    signal.addEventListener('abort', kill, { once: true });
  });
}
