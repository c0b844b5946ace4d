import { clockText } from './format.js';
import type { ScreenView } from '../view.js';

/** Whether nobody tells any more how things are: what is shown is what was known last. */
export function isLost({ connection }: Pick<ScreenView, 'connection'>): boolean {
  return connection.state === 'lost';
}

/** `Models (3), as of 14:02:11` while nobody answers; by the clock, since an age would have to be drawn every second. */
export function titleAsOf(title: string, { connection }: Pick<ScreenView, 'connection'>): string {
  return connection.state === 'lost' ? `${title}, as of ${clockText(connection.since)}` : title;
}

/** What is said to a wish that only a supervisor can fulfil, while there is none: so, and what can be done about it. */
export function nobodyThere({
  connection,
  ended,
  options,
}: Pick<ScreenView, 'connection' | 'ended' | 'options'>): string {
  const { source, program, readOnly } = options;
  if (ended !== null)
    return `there is no supervisor: it ended at ${clockText(ended.at)}; ${readOnly ? 'q leaves' : 'a starts it again'}`;
  const since = connection.state === 'lost' ? ` since ${clockText(connection.since)}` : '';
  return source.can.has('stop')
    ? `no supervisor answers${since}; ${program} in another terminal starts one`
    : `the ${source.kind} does not answer${since}; this screen tries again by itself`;
}
