import type { Millis, SupervisorClient, SupervisorEnd } from '../src/client/types.js';
import { unexpectedEnd, type DomainStore } from '../src/store/domain-store.js';
import { say, type ScreenStore } from '../src/store/screen-store.js';
import { clockText, countText, endText } from './text/format.js';

/** How a screen has ended, and what there is to tell the user on the restored terminal. */
export interface ScreenOutcome {
  readonly reason: 'detached' | 'stopped' | 'left' | 'disconnected' | 'signal' | 'start-again';
  readonly message: string | null;
}

/** How long leaving may be held up by a supervisor that does not answer. */
const ANSWER_LIMIT_MILLIS: Millis = 3_000;

/** The ways out of the screen. */
export interface Leaving {
  detach(): void;
  leave(): void;
  stopAll(): void;
  /** The supervisor has ended; whoever runs this screen starts it once more, and a new screen that tells of the end. */
  startAgain(): void;
  close(): void;
}

/**
 * Waits for what each way out needs. Stopping everything keeps the screen until the supervisor is gone, so that the
 * user sees the models leave; leaving again meanwhile goes at once.
 */
export function createLeaving(
  client: SupervisorClient,
  domain: DomainStore,
  screen: ScreenStore,
  attachCommand: string,
  finish: (outcome: ScreenOutcome) => void,
): Leaving {
  const url = (): string => domain.getState().snapshot?.supervisor.url ?? 'its address';

  let stopAccepted = false;

  // A supervisor that was shutting down and then is gone has been stopped, by whomever.
  function finishWhenStopped(): void {
    const { connection, snapshot } = domain.getState();
    if (connection.state !== 'lost' || !(stopAccepted || snapshot?.shuttingDown === true)) return;
    const message = screen.getState().stopping
      ? 'All models and the supervisor have been stopped.'
      : 'The supervisor was stopped.';
    finish({ reason: 'stopped', message });
  }
  const end = domain.subscribe(finishWhenStopped);

  return {
    detach() {
      void within(ANSWER_LIMIT_MILLIS, client.detach()).then((result) => {
        if (result === null) {
          const message = `The supervisor at ${url()} did not answer: it may stop its models now that this screen has gone.`;
          finish({ reason: 'left', message });
        } else if (result.ok) {
          const again = `${attachCommand} ${url()}`;
          finish({ reason: 'detached', message: `Everything keeps running at ${url()}; to see it again: ${again}` });
        } else say(screen, 'bad', `could not detach: ${result.message}`);
      });
    },
    leave() {
      const { connection } = domain.getState();
      const end = unexpectedEnd(domain.getState());
      if (end !== null) finish({ reason: 'disconnected', message: `${endSentence(end)} Its log: ${end.log}` });
      else if (screen.getState().stopping) {
        finish({ reason: 'left', message: 'The supervisor is still stopping its models.' });
      } else if (connection.state === 'live') finish({ reason: 'left', message: null });
      else {
        const message = connection.state === 'lost' ? connection.reason : 'The supervisor has not answered yet.';
        finish({ reason: 'disconnected', message });
      }
    },
    stopAll() {
      const running = domain.getState().snapshot?.models.filter((model) => model.generation !== null).length ?? 0;
      screen.setState({ stopping: true });
      say(
        screen,
        'plain',
        `stopping ${running === 0 ? 'the supervisor' : countText(running, 'model')}; q leaves without waiting`,
      );
      void client.stopAll().then((result) => {
        if (result.ok) {
          stopAccepted = true;
          finishWhenStopped();
        } else {
          screen.setState({ stopping: false });
          say(screen, 'bad', `could not stop: ${result.message}`);
        }
      });
    },
    startAgain() {
      const end = unexpectedEnd(domain.getState());
      if (end !== null)
        finish({ reason: 'start-again', message: `${endSentence(end)} It was started again. Its log: ${end.log}` });
    },
    close: end,
  };
}

function endSentence(end: SupervisorEnd): string {
  return `The supervisor ended at ${clockText(end.at)} (${endText(end)}).`;
}

/** What the promise brings, or null when that takes too long. */
async function within<T>(millis: Millis, promise: Promise<T>): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, millis, null);
  });
  const result = await Promise.race([promise, late]);
  clearTimeout(timer);
  return result;
}
