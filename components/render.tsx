import { render } from 'ink';
import type { SupervisorClient } from '../src/client/types.js';
import { createDomainStore } from '../src/store/domain-store.js';
import { feedDomainStore } from '../src/store/feed.js';
import { createScreenStore } from '../src/store/screen-store.js';
import { App } from './app.js';
import { createFrameSource } from './frame-source.js';
import type { CommandContext } from './keys/command.js';
import { dispatchKey, dispatchPaste } from './keys/dispatch.js';
import { actOn } from './keys/model-commands.js';
import { createLeaving, type ScreenOutcome } from './leave.js';
import { readLogs } from './log-reader.js';
import { chooseGlyphs, type GlyphChoice } from './theme/glyphs.js';
import { COLOURS, MONOCHROME } from './theme/tones.js';
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
  /** Hides everything that changes something. */
  readonly readOnly?: boolean;
  /** How the supervisor is called in the title; by default its URL's host. */
  readonly hostLabel?: string;
  /**
   * The command that shows a supervisor, without its address, as this user has to type it: `npm start -- attach` in a
   * checkout. By default `llm-tui attach`.
   */
  readonly attachCommand?: string;
  /** Ends the screen. */
  readonly signal?: AbortSignal;
}

/** Frames a second at most. */
const MAX_FPS = 15;

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
    readOnly: options.readOnly ?? false,
    ownsSupervisor: options.ownsSupervisor,
    hostLabel: options.hostLabel ?? null,
  };
  const domain = createDomainStore();
  const screen = createScreenStore({ columns: stdout.columns, rows: stdout.rows });
  const end = watchForTheEnd(stdin, stdout, options.signal);
  const frames = createFrameSource(domain, screen, settings, stdout.hasColors() ? COLOURS : MONOCHROME, end.fail);
  const leaving = createLeaving(client, domain, screen, options.attachCommand ?? 'llm-tui attach', end.finish);
  const resized = (): void => screen.setState({ viewport: { columns: stdout.columns, rows: stdout.rows } });
  stdout.on('resize', resized);

  const context: CommandContext = {
    domain,
    screen,
    client,
    options: settings,
    view: frames.view,
    pageSize: frames.pageSize,
    redraw: () => redraw(),
    suspend: () => suspension.suspend(),
    answer: (answer, dialog) => {
      switch (answer) {
        case 'detach':
          return leaving.detach();
        case 'leave':
          return leaving.leave();
        case 'stop-all':
          return leaving.stopAll();
        case 'confirm':
          if (dialog?.kind === 'confirm') actOn(context, dialog.action, dialog.model);
          return;
        case 'cancel':
          return;
      }
    },
  };
  const suspension = watchForSuspension(() => redraw(), end.fail);
  const guarded =
    <T,>(handle: (context: CommandContext, value: T) => void) =>
    (value: T): void => {
      try {
        handle(context, value);
      } catch (error) {
        end.fail(error);
      }
    };
  const app = (epoch: number): React.JSX.Element => (
    <App
      frames={frames}
      epoch={epoch}
      onKey={guarded(dispatchKey)}
      onPaste={guarded(dispatchPaste)}
      onHandOver={suspension.take}
    />
  );

  const ink = render(app(0), {
    stdin,
    stdout,
    alternateScreen: true,
    incrementalRendering: true,
    interactive: true,
    maxFps: MAX_FPS,
    patchConsole: false,
    exitOnCtrlC: false,
  });
  let epoch = 0;
  const redraw = (): void => {
    epoch += 1;
    ink.clear();
    // Whatever another program has left: Ink alone erases only the rows it knows of, from where it thinks it is.
    stdout.write('\u001b[H\u001b[2J');
    ink.rerender(app(epoch));
  };
  ink.waitUntilExit().catch(end.fail);
  const endLogs = readLogs(client, screen);
  const endFeed = feedDomainStore(domain, client);
  try {
    return await end.outcome;
  } finally {
    endFeed();
    endLogs();
    leaving.close();
    frames.close();
    stdout.off('resize', resized);
    suspension.close();
    ink.unmount();
    await ink.waitUntilExit().catch(() => undefined);
    end.close();
  }
}
