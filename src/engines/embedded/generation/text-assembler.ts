import type { LlamaModel, Token } from 'node-llama-cpp';

/** Turns tokens into text that can be sent: whole characters only, and nothing from a stop string on. */
export interface TextAssembler {
  /** The text that became certain with this token. */
  push(token: Token): string;
  /** The rest, once generation has ended. */
  finish(): string;
  /** True once a stop string has been seen; nothing comes after it. */
  readonly stopped: boolean;
  /** That stop string; empty until then. */
  readonly stoppingWord: string;
  /** Characters so far, whether they have been given out or not; null in the middle of one. */
  readonly length: number | null;
}

export interface TextOptions {
  /** Strings that end the text. */
  readonly stops: readonly string[];
  /** Strings that end it only where nothing but white space is before them. */
  readonly stopsAtStart?: readonly string[];
  /** Control tokens whose names show in the text. */
  readonly shows?: (token: Token) => boolean;
}

/** Tokens before that decide how a token reads (whether a space comes first). */
const CONTEXT_TOKENS = 8;
/** A character is four bytes at most; what has not become one by then never will. */
const PENDING_TOKENS = 8;
const REPLACEMENT = '\uFFFD';

export function createTextAssembler(
  model: Pick<LlamaModel, 'detokenize'>,
  prompt: readonly Token[],
  { stops, stopsAtStart = [], shows = () => false }: TextOptions,
): TextAssembler {
  const recent = prompt.slice(-CONTEXT_TOKENS);
  let pending: Token[] = [];
  let held = '';
  let stoppingWord = '';
  let length = 0;
  let blank = true;

  const decode = (): string => model.detokenize(pending, pending.some(shows), recent);
  const decodePending = (): string => {
    const text = decode();
    length += text.length;
    recent.push(...pending);
    recent.splice(0, Math.max(0, recent.length - CONTEXT_TOKENS));
    pending = [];
    return text;
  };

  const sift = (text: string): string => {
    held += text;
    const current = blank ? [...stops, ...stopsAtStart.filter((stop) => mayBeginWith(held.trimStart(), stop))] : stops;
    const at = firstStop(held, current);
    if (at !== null) {
      stoppingWord = at.stop;
      const before = held.slice(0, at.index);
      held = '';
      return before;
    }
    const ready = held.slice(0, held.length - possibleStopLength(held, current));
    blank &&= ready.trim() === '';
    held = held.slice(ready.length);
    return ready;
  };

  return {
    get stopped() {
      return stoppingWord !== '';
    },
    get stoppingWord() {
      return stoppingWord;
    },
    get length() {
      return pending.length > 0 ? null : length;
    },
    push(token) {
      if (stoppingWord !== '') return '';
      pending.push(token);
      const text = decode();
      if (text.endsWith(REPLACEMENT) && pending.length < PENDING_TOKENS) return '';
      return sift(decodePending());
    },
    finish() {
      if (stoppingWord !== '') return '';
      const text = sift(pending.length === 0 ? '' : decodePending()) + held;
      held = '';
      return text;
    },
  };
}

function firstStop(text: string, stops: readonly string[]): { readonly index: number; readonly stop: string } | null {
  return stops
    .map((stop) => ({ index: text.indexOf(stop), stop }))
    .filter(({ index }) => index >= 0)
    .reduce<{ index: number; stop: string } | null>((a, b) => (a === null || b.index < a.index ? b : a), null);
}

function mayBeginWith(text: string, stop: string): boolean {
  return text.startsWith(stop) || stop.startsWith(text);
}

/** Length of the longest end of `text` with which a stop string could begin. */
function possibleStopLength(text: string, stops: readonly string[]): number {
  let longest = 0;
  for (const stop of stops) {
    for (let length = Math.min(stop.length - 1, text.length); length > longest; length -= 1) {
      if (text.endsWith(stop.slice(0, length))) longest = length;
    }
  }
  return longest;
}
