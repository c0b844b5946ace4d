import { pause } from './pause.js';
import { createSseParser } from './sse-parser.js';
import { failureSentence, type SupervisorHttp } from './supervisor-http.js';
import type { LogMessage, Millis, ModelId } from './types.js';

const RETRY_MILLIS: Millis = 1_000;

/** Follows a model's log until `signal` ends it; a connection that breaks is made again, and the log begins anew. */
export async function followLog(
  http: SupervisorHttp,
  model: ModelId,
  listener: (message: LogMessage) => void,
  signal: AbortSignal,
): Promise<void> {
  const isOver = (): boolean => signal.aborted;
  while (!isOver()) {
    let reason = `The supervisor at ${http.name} has ended the connection.`;
    try {
      const stream = await http.stream(`supervisor/logs?follow=1&model=${encodeURIComponent(model)}`, signal);
      const parser = createSseParser();
      listener({ type: 'start' });
      for await (const piece of stream) {
        const lines = parser.push(piece).flatMap(({ data }) => lineOf(data));
        if (lines.length > 0) listener({ type: 'lines', lines });
      }
    } catch (error) {
      reason = failureSentence(http.name, error);
    }
    if (isOver()) return;
    listener({ type: 'failed', message: reason });
    await pause(RETRY_MILLIS, signal);
  }
}

function lineOf(data: string): readonly string[] {
  const { line } = JSON.parse(data) as { readonly line?: unknown };
  return typeof line === 'string' ? [line] : [];
}
