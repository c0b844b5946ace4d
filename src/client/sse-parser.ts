/** One event of an event stream. */
export interface ServerSentEvent {
  /** `message` where the stream names none. */
  readonly event: string;
  /** The data lines, joined by line feeds. */
  readonly data: string;
}

/** Turns pieces of a stream into events, wherever the pieces were cut. */
export interface SseParser {
  /** The events that this piece completes, in order. */
  push(piece: string): ServerSentEvent[];
}

/**
 * A parser for `text/event-stream` as the WHATWG HTML standard defines it (section "Interpreting an event
 * stream"): lines end in LF, CR or CRLF; comments, `id` and `retry` are accepted and not needed here.
 * An event that the stream's end cuts off is dropped, as the standard says.
 */
export function createSseParser(): SseParser {
  let rest = '';
  let started = false;
  let event = '';
  let data: string[] = [];

  function takeLine(line: string): ServerSentEvent | null {
    if (line === '') {
      const complete = data.length === 0 ? null : { event: event === '' ? 'message' : event, data: data.join('\n') };
      event = '';
      data = [];
      return complete;
    }
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'event') event = value;
    else if (field === 'data') data.push(value);
    return null;
  }

  return {
    push(piece) {
      rest += piece;
      if (!started && rest !== '') {
        started = true;
        if (rest.startsWith('\ufeff')) rest = rest.slice(1);
      }
      const events: ServerSentEvent[] = [];
      let from = 0;
      for (;;) {
        const end = lineEnd(rest, from);
        if (end === null) break;
        const complete = takeLine(rest.slice(from, end.at));
        if (complete !== null) events.push(complete);
        from = end.next;
      }
      rest = rest.slice(from);
      return events;
    },
  };
}

/** Where the line that starts at `from` ends; null while that cannot be known yet (a CR may be half of a CRLF). */
function lineEnd(text: string, from: number): { at: number; next: number } | null {
  for (let at = from; at < text.length; at += 1) {
    const character = text[at];
    if (character === '\n') return { at, next: at + 1 };
    if (character === '\r') {
      if (at + 1 === text.length) return null;
      return { at, next: text[at + 1] === '\n' ? at + 2 : at + 1 };
    }
  }
  return null;
}
