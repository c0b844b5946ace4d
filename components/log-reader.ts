import type { LogMessage, Millis, ModelId, SupervisorClient } from '../src/client/types.js';
import type { LogTail, ScreenStore } from '../src/store/screen-store.js';

/** Lines that a screen keeps of a log; the supervisor keeps fewer, so that all of its are among them. */
const LINES_KEPT = 2_000;
/** Of a longer line nobody reads the rest; the supervisor cuts them much the same. */
const LONGEST_LINE_CHARS = 4_096;
/** A child may write thousands of lines a second: they are shown in bundles. */
const BUNDLE_MILLIS: Millis = 200;

/** Follows the log of the model whose page is open, for as long as it is; returns how to end that. */
export function readLogs(client: Pick<SupervisorClient, 'followLog'>, screen: ScreenStore): () => void {
  let model: ModelId | null = null;
  let end = (): void => undefined;

  function follow(): void {
    const { page } = screen.getState();
    const wanted = page?.kind === 'detail' || page?.kind === 'logs' ? page.model : null;
    if (wanted === model) return;
    end();
    model = wanted;
    end = wanted === null ? () => undefined : followOne(client, screen, wanted);
  }

  const unsubscribe = screen.subscribe(follow);
  return () => {
    unsubscribe();
    end();
  };
}

function followOne(client: Pick<SupervisorClient, 'followLog'>, screen: ScreenStore, model: ModelId): () => void {
  let tail: LogTail = { model, lines: [], dropped: 0, error: null };
  let timer: NodeJS.Timeout | null = null;
  let shownAt = Number.NEGATIVE_INFINITY;

  function show(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    shownAt = performance.now();
    screen.setState({ logTail: tail });
  }

  const end = client.followLog(model, (message) => {
    tail = after(tail, message);
    const wait = shownAt + BUNDLE_MILLIS - performance.now();
    if (wait <= 0 && message.type !== 'start') show();
    else timer ??= setTimeout(show, Math.max(BUNDLE_MILLIS / 2, wait));
  });
  return () => {
    end();
    if (timer !== null) clearTimeout(timer);
  };
}

/** The log after a message. What is told anew gets new numbers, or nobody could tell old lines from new ones. */
function after(tail: LogTail, message: LogMessage): LogTail {
  switch (message.type) {
    case 'start':
      return { ...tail, dropped: tail.dropped + tail.lines.length, lines: [], error: null };
    case 'failed':
      return { ...tail, error: message.message };
    case 'lines': {
      const lines = [...tail.lines, ...message.lines.map((line) => line.slice(0, LONGEST_LINE_CHARS))];
      const surplus = Math.max(0, lines.length - LINES_KEPT);
      return { ...tail, error: null, lines: lines.slice(surplus), dropped: tail.dropped + surplus };
    }
  }
}
