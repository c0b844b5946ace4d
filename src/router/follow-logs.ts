import type { Supervisor } from '../supervisor/supervisor.js';
import type { ModelId } from '../scheduler/units.js';
import { openEventStream } from './event-stream.js';
import type { Exchange } from './exchange.js';

/** `GET /supervisor/logs?follow=1`: the lines there are, then each as it comes, as `{"line": …}`; over restarts too. */
export function followLogs(supervisor: Supervisor, exchange: Exchange, model: ModelId): void {
  const stream = openEventStream(exchange.request, exchange.response);
  for (const line of supervisor.logs(model)) stream.send(null, { line });
  stream.onClose(
    supervisor.onLog(({ model: of, line }) => {
      if (of === model) stream.send(null, { line });
    }),
  );
}
