import type { Millis } from '../src/client/types.js';

/** Gives the terminal away as it was before the screen, runs the function, and takes it back. */
export type HandOver = (run: () => Promise<void>) => Promise<void>;

/** Ctrl-Z, and coming back from it. */
export interface Suspension {
  readonly take: (handOver: HandOver) => void;
  suspend(): void;
  close(): void;
}

/** The stop comes at once, where it comes at all: a group that no shell watches over cannot be stopped like this. */
const STOP_MILLIS: Millis = 50;

/**
 * Stops the whole foreground group, as the terminal itself does on Ctrl-Z: whatever has started this program, be it
 * npm, waits for it and must stop too for the shell to come back. The supervisor has a session of its own and goes on.
 * A stop that came from elsewhere leaves the terminal to whoever wants it; then everything is drawn again.
 */
export function watchForSuspension(redraw: () => void, fail: (error: unknown) => void): Suspension {
  let handOver: HandOver | null = null;
  let suspended = false;

  async function stopGroup(): Promise<void> {
    process.kill(0, 'SIGTSTP');
    // Time stands still in here until the shell continues us.
    await new Promise((resolve) => setTimeout(resolve, STOP_MILLIS));
  }

  function continued(): void {
    if (!suspended) redraw();
  }
  process.on('SIGCONT', continued);

  return {
    take(given) {
      handOver = given;
    },
    suspend() {
      if (handOver === null || suspended) return;
      suspended = true;
      handOver(stopGroup)
        .then(() => {
          suspended = false;
          redraw();
        })
        .catch(fail);
    },
    close() {
      process.off('SIGCONT', continued);
    },
  };
}
