import { spawn } from '@lydell/node-pty';
import xterm from '@xterm/headless';

/** How a program in the terminal has ended. */
export interface TerminalExit {
  readonly exitCode: number;
  /** 0: it was not ended by a signal. */
  readonly signal: number;
}

/** One cell as it looks; the second cell of a wide character is blank. */
export interface TerminalCell {
  readonly text: string;
  /** All that is known of its colours and weight, for comparisons. */
  readonly look: string;
  /** Number of the colour in the terminal's palette; null: its foreground. */
  readonly colour: number | null;
  readonly bold: boolean;
  readonly dim: boolean;
}

/** A piece of what a program has written. */
export interface TerminalWrite {
  /** By this process's `performance.now()`. */
  readonly atMillis: number;
  readonly bytes: number;
}

/** A real program in a real pseudo-terminal, with a screen that can be read. */
export interface TestTerminal extends AsyncDisposable {
  readonly pid: number;
  readonly exited: Promise<TerminalExit>;
  /** The rows of the screen, blanks at their ends removed. */
  lines(): readonly string[];
  text(): string;
  /** The cells of the screen, row by row. */
  cells(): readonly (readonly TerminalCell[])[];
  /** True while the program draws on the alternate screen. */
  onAlternateScreen(): boolean;
  /** False while the program hides the cursor. */
  cursorVisible(): boolean;
  /** Everything the program has written so far. */
  output(): string;
  /** When it has written how much: one for each piece that was read. */
  writes(): readonly TerminalWrite[];
  /** Resolves once the screen has this on it, and fails with the screen as it is when that takes too long. */
  waitFor(wanted: string | RegExp | ((lines: readonly string[]) => boolean), limitMillis?: number): Promise<void>;
  /** Resolves once the program has written nothing for so long. */
  settle(quietMillis: number): Promise<void>;
  type(keys: string): void;
  resize(columns: number, rows: number): void;
}

export interface TerminalCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly columns: number;
  readonly rows: number;
}

/** Far more than anything takes: it only catches what never comes. */
const LIMIT_MILLIS = 20_000;

export function startTerminal(command: TerminalCommand): TestTerminal {
  const screen = new xterm.Terminal({
    cols: command.columns,
    rows: command.rows,
    allowProposedApi: true,
    scrollback: 1_000,
  });
  const child = spawn(command.file, [...command.args], {
    name: command.env?.['TERM'] ?? 'xterm-256color',
    cols: command.columns,
    rows: command.rows,
    env: { ...process.env, CI: 'false', TERM: 'xterm-256color', ...command.env },
  });
  let written = '';
  const writes: TerminalWrite[] = [];
  let lastWrite = performance.now();
  let exit: TerminalExit | null = null;
  const watchers = new Set<() => void>();
  const notify = (): void => {
    for (const watcher of watchers) watcher();
  };
  child.onData((data) => {
    written += data;
    lastWrite = performance.now();
    writes.push({ atMillis: lastWrite, bytes: Buffer.byteLength(data) });
    screen.write(data, notify);
  });
  const exited = new Promise<TerminalExit>((resolve) =>
    child.onExit(({ exitCode, signal }) => {
      exit = { exitCode, signal: signal ?? 0 };
      // What it wrote last may still be on its way to the screen.
      screen.write('', () => {
        notify();
        resolve({ exitCode, signal: signal ?? 0 });
      });
    }),
  );

  const lines = (): string[] => {
    const buffer = screen.buffer.active;
    return Array.from(
      { length: screen.rows },
      (_, row) => buffer.getLine(buffer.baseY + row)?.translateToString(true) ?? '',
    );
  };
  const text = (): string => lines().join('\n');

  return {
    pid: child.pid,
    exited,
    lines,
    text,
    cells: () => {
      const buffer = screen.buffer.active;
      return Array.from({ length: screen.rows }, (_, row) => {
        const line = buffer.getLine(buffer.baseY + row);
        return Array.from({ length: screen.cols }, (_, column): TerminalCell => {
          const cell = line?.getCell(column);
          if (cell === undefined) return { text: ' ', look: '', colour: null, bold: false, dim: false };
          return {
            text: cell.getChars() === '' ? ' ' : cell.getChars(),
            look: [cell.getFgColor(), cell.getBgColor(), cell.isBold(), cell.isDim(), cell.isInverse()].join(','),
            colour: cell.isFgPalette() ? cell.getFgColor() : null,
            bold: cell.isBold() !== 0,
            dim: cell.isDim() !== 0,
          };
        });
      });
    },
    onAlternateScreen: () => screen.buffer.active.type === 'alternate',
    cursorVisible: () => written.lastIndexOf('\u001b[?25h') > written.lastIndexOf('\u001b[?25l'),
    output: () => written,
    writes: () => writes,
    async waitFor(wanted, limitMillis = LIMIT_MILLIS) {
      const reached = (): boolean => {
        if (typeof wanted === 'function') return wanted(lines());
        return typeof wanted === 'string' ? text().includes(wanted) : wanted.test(text());
      };
      await new Promise<void>((resolve, reject) => {
        const stop = (): void => {
          clearTimeout(timer);
          watchers.delete(check);
        };
        const check = (): void => {
          if (!reached()) return;
          stop();
          resolve();
        };
        const timer = setTimeout(() => {
          stop();
          const state = exit === null ? 'still running' : `ended with ${exit.exitCode}`;
          reject(new Error(`The screen never showed ${String(wanted)} (${state}):\n${text()}`));
        }, limitMillis);
        watchers.add(check);
        check();
      });
    },
    async settle(quietMillis) {
      for (;;) {
        const quiet = performance.now() - lastWrite;
        if (quiet >= quietMillis) return;
        await new Promise((resolve) => setTimeout(resolve, quietMillis - quiet + 1));
      }
    },
    type: (keys) => child.write(keys),
    resize(columns, rows) {
      // The screen first: what the program draws for the new size must find it there.
      screen.resize(columns, rows);
      child.resize(columns, rows);
    },
    async [Symbol.asyncDispose]() {
      if (exit === null) {
        child.kill('SIGKILL');
        await exited;
      }
      screen.dispose();
    },
  };
}
