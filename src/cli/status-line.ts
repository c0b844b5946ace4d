import { visibleText } from '../../components/text/clean.js';
import { cutText } from '../../components/text/width.js';

/** What a command waits for. */
export interface StatusLine {
  /** True on a terminal, where a line may change as often as it likes. */
  readonly changes: boolean;
  tell(text: string): void;
  /** Leaves a terminal as if nothing had been said. */
  clear(): void;
}

const ERASE = '\r\u001b[2K';

/** On stderr, which is nobody's data: one line that changes on a terminal, elsewhere a line for each change. */
export function statusLine(stream: NodeJS.WriteStream = process.stderr): StatusLine {
  const changes = stream.isTTY && process.env['TERM'] !== 'dumb';
  let told = '';
  return {
    changes,
    tell(text) {
      const line = visibleText(text);
      if (line === told) return;
      told = line;
      // A line that is wrapped could not be erased.
      stream.write(changes ? `${ERASE}${cutText(line, (stream.columns || 80) - 1, '…')}` : `${line}\n`);
    },
    clear() {
      if (changes && told !== '') stream.write(ERASE);
      told = '';
    },
  };
}
