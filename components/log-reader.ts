import type { Millis, ModelId, SupervisorClient } from '../src/client/types.js';
import type { ScreenStore } from '../src/store/screen-store.js';

const REFRESH_MILLIS: Millis = 1_000;

/** Reads the log of the model whose page is open, again and again while it is; returns how to end that. */
export function readLogs(client: Pick<SupervisorClient, 'logs'>, screen: ScreenStore): () => void {
  let model: ModelId | null = null;
  let timer: NodeJS.Timeout | null = null;

  function stop(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
  }

  function read(wanted: ModelId): void {
    const again = (lines: readonly string[], error: string | null): void => {
      if (model !== wanted) return;
      const known = screen.getState().logTail;
      const same = known?.model === wanted && known.error === error && sameLines(known.lines, lines);
      if (!same) screen.setState({ logTail: { model: wanted, lines, error } });
      timer = setTimeout(() => read(wanted), REFRESH_MILLIS);
    };
    client.logs(wanted).then(
      (lines) => again(lines, null),
      (error: unknown) => again([], error instanceof Error ? error.message : String(error)),
    );
  }

  function follow(): void {
    const { page } = screen.getState();
    const wanted = page?.kind === 'detail' || page?.kind === 'logs' ? page.model : null;
    if (wanted === model) return;
    stop();
    model = wanted;
    if (wanted !== null) read(wanted);
  }

  const end = screen.subscribe(follow);
  return () => {
    end();
    stop();
    model = null;
  };
}

function sameLines(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((line, index) => line === b[index]);
}
