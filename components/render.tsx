import { render } from 'ink';
import type { SupervisorClient } from '../src/client/types.js';
import { App } from './app.js';
import type { ScreenOutcome } from './leave.js';
import { createSession } from './session.js';
import { chooseGlyphs, type GlyphChoice } from './theme/glyphs.js';
import { chooseTheme, type ThemeChoice } from './theme/choose-theme.js';
import { watchForSuspension } from './suspension.js';
import { watchForTheEnd } from './the-end.js';
import type { ScreenOptions } from './view.js';

export type { ScreenOutcome } from './leave.js';

export interface RunScreenOptions {
  readonly client: SupervisorClient;
  readonly stdin?: NodeJS.ReadStream;
  readonly stdout?: NodeJS.WriteStream;
  /** This screen started the supervisor: leaving then asks what becomes of it. */
  readonly ownsSupervisor: boolean;
  readonly glyphs?: GlyphChoice;
  /** By default `auto`: as the terminal's background is, as far as it says. */
  readonly theme?: ThemeChoice;
  /** Says what changes, line by line, instead of drawing. By default where INK_SCREEN_READER is true, or TERM is dumb. */
  readonly screenReader?: boolean;
  /** Hides everything that changes something. */
  readonly readOnly?: boolean;
  /** How the supervisor is called in the title; by default its URL's host. */
  readonly hostLabel?: string;
  /** What this program is called on this user's command line: `npm start --` in a checkout. By default `llm-tui`. */
  readonly program?: string;
  /** How the supervisors before this one ended, oldest first; one sentence each. By default there were none. */
  readonly earlierEnds?: readonly string[];
  /** Ends the screen. */
  readonly signal?: AbortSignal;
}

/** There is no room to run out of where nothing is drawn. */
const LISTENING = { columns: 100, rows: 100 } as const;

function sizeOf({ columns, rows }: NodeJS.WriteStream): { readonly columns: number; readonly rows: number } {
  return { columns, rows };
}

function isForListening(env: Readonly<Record<string, string | undefined>>): boolean {
  // A terminal that cannot move its cursor can still be written to.
  return env.INK_SCREEN_READER === 'true' || env.TERM === 'dumb';
}

/** Frames a second at most. */
const MAX_FPS = 15;

/** DEC's private mode 7, which every terminal of today knows. */
const AUTOWRAP = '\u001b[?7h';
const NO_AUTOWRAP = '\u001b[?7l';

/**
 * Shows the screen until the user leaves it, and tells how it ended; the message is for the caller to print, on the
 * terminal that is then restored. Rejects, with the terminal restored too, when the screen itself fails or when
 * there is no terminal. Owns SIGINT, SIGTERM and SIGHUP meanwhile. Does not close the client.
 */
export async function runScreen(options: RunScreenOptions): Promise<ScreenOutcome> {
  const { client, stdin = process.stdin, stdout = process.stdout } = options;
  if (!stdin.isTTY || !stdout.isTTY) throw new Error('The screen needs a terminal for input and output.');

  const settings: ScreenOptions = {
    glyphs: chooseGlyphs(options.glyphs ?? 'auto', process.env),
    hasColours: stdout.hasColors(),
    readOnly: options.readOnly ?? false,
    source: client.source,
    ownsSupervisor: options.ownsSupervisor,
    hostLabel: options.hostLabel ?? null,
    program: options.program ?? 'llm-tui',
    earlierEnds: options.earlierEnds ?? [],
  };
  const linear = options.screenReader ?? isForListening(process.env);
  const end = watchForTheEnd(stdin, stdout, options.signal);
  const suspension = watchForSuspension(() => redraw(), end.fail);
  const session = createSession({
    client,
    settings,
    theme: chooseTheme(options.theme ?? 'auto', process.env),
    listen: linear ? (line) => stdout.write(`${line}\n`) : null,
    terminal: {
      ...(linear ? LISTENING : sizeOf(stdout)),
      write: (sequence) => stdout.write(sequence),
      redraw: () => redraw(),
      suspend() {
        // The shell that takes over is used to it.
        if (!linear) stdout.write(AUTOWRAP);
        suspension.suspend();
      },
    },
    env: process.env,
    finish: end.finish,
    fail: end.fail,
  });
  const { frames, screen } = session;
  const resized = (): void => {
    if (!linear) screen.setState({ viewport: sizeOf(stdout) });
  };
  stdout.on('resize', resized);

  const app = (epoch: number): React.JSX.Element => (
    <App frames={frames} epoch={epoch} onKey={session.press} onPaste={session.paste} onHandOver={suspension.take} />
  );

  const ink = render(app(0), {
    stdin,
    stdout,
    alternateScreen: !linear,
    incrementalRendering: !linear,
    isScreenReaderEnabled: linear,
    interactive: true,
    maxFps: MAX_FPS,
    patchConsole: false,
    exitOnCtrlC: false,
  });
  let epoch = 0;
  const redraw = (): void => {
    if (linear) return session.again();
    epoch += 1;
    ink.clear();
    // Whatever another program has left: Ink alone erases only the rows it knows of, from where it thinks it is.
    stdout.write(`\u001b[H\u001b[2J${NO_AUTOWRAP}`);
    ink.rerender(app(epoch));
  };
  ink.waitUntilExit().catch(end.fail);
  // Whatever widths this program and the terminal disagree about: what is too long is cut at the edge, and never goes on
  // in a row that belongs to something else.
  if (!linear) stdout.write(NO_AUTOWRAP);
  session.start();
  try {
    return await end.outcome;
  } finally {
    session.close();
    stdout.off('resize', resized);
    suspension.close();
    ink.unmount();
    await ink.waitUntilExit().catch(() => undefined);
    if (!linear) stdout.write(AUTOWRAP);
    end.close();
  }
}
