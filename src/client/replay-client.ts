import { previewLoad } from '../scheduler/preview.js';
import { project } from '../scheduler/project.js';
import { readMoments, type Moment, type Moments } from './moments.js';
import { RECORDED, refusalOf } from './sources.js';
import type { ActionResult, ClientMessage, Millis, RecordedPosition, Snapshot, SupervisorClient } from './types.js';

/** Between two moments it takes as long as it took, but neither so short that nothing is seen nor so long that one waits. */
const SHORTEST_MILLIS: Millis = 200;
const LONGEST_MILLIS: Millis = 1_500;

/**
 * A recorded journal to look at, as if it were a supervisor: it begins at its end, where everything has happened.
 * Throws JournalError, with one sentence, on a file that is no journal.
 */
export function openRecording(path: string): SupervisorClient {
  const recorded = readMoments(path);
  const { moments } = recorded;
  const listeners = new Set<(message: ClientMessage) => void>();
  let index = moments.length - 1;
  let timer: NodeJS.Timeout | null = null;

  const current = (): Moment => moments[index] ?? (moments[0] as Moment);
  const tell = (listener: (message: ClientMessage) => void): void => {
    listener({ type: 'position', position: positionOf(recorded, index, timer !== null) });
    listener({ type: 'snapshot', snapshot: snapshotOf(path, recorded, current()) });
  };
  const tellAll = (): void => {
    for (const listener of listeners) tell(listener);
  };
  const pause = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
  };
  const playOn = (): void => {
    const next = moments[index + 1];
    if (next === undefined) return pause();
    const gap = Math.max(SHORTEST_MILLIS, Math.min(LONGEST_MILLIS, next.at - current().at));
    timer = setTimeout(() => {
      index += 1;
      playOn();
      tellAll();
    }, gap);
  };
  const cannot = (wish: string): Promise<ActionResult & { readonly ok: false }> =>
    Promise.resolve({ ok: false, message: refusalOf(RECORDED, wish) });

  return {
    source: RECORDED,
    recording: {
      step(by) {
        pause();
        index = Math.max(0, Math.min(moments.length - 1, index + by));
        tellAll();
      },
      togglePlaying() {
        if (timer !== null) pause();
        else {
          // From its end it goes on at its beginning, as everywhere.
          if (index === moments.length - 1) index = 0;
          playOn();
        }
        tellAll();
      },
    },
    subscribe(listener) {
      listeners.add(listener);
      tell(listener);
      return () => listeners.delete(listener);
    },
    act: cannot,
    reload: () => cannot('reload'),
    plan: (model) => Promise.resolve(previewLoad(current().state, model, current().at)),
    logs: () => Promise.reject(new Error('a journal holds no logs')),
    followLog(_model, listener) {
      listener({ type: 'failed', message: 'a journal holds no logs' });
      return () => undefined;
    },
    stopAll: () => cannot('stop'),
    detach: () => Promise.resolve({ ok: true }),
    close() {
      pause();
      listeners.clear();
    },
  };
}

function positionOf({ moments, left }: Moments, index: number, playing: boolean): RecordedPosition {
  const { at } = moments[index] ?? { at: 0 };
  return { moment: index, moments: moments.length - 1, at, playing, left };
}

/** What the journal leaves out, it left out for good reason: logs, activity, and how its supervisor was started. */
function snapshotOf(path: string, { header, notices }: Moments, { state, outOfMemory }: Moment): Snapshot {
  const { models, ...rest } = project(state);
  return {
    schema: 1,
    ...rest,
    outOfMemory,
    models: models.map(({ lastExit, ...model }) => ({
      ...model,
      lastExit: lastExit === null ? null : { ...lastExit, lastLines: [] },
    })),
    supervisor: {
      version: header.version,
      pid: 0,
      startedAt: header.startedAt,
      url: '',
      host: path,
      engine: { name: 'recorded', reason: `recorded in ${path}`, simulated: false },
      startedWith: '',
      sources: [],
      notices,
    },
  };
}
