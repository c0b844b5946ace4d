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
}

/** Tokens before that decide how a token reads (whether a space comes first). */
const CONTEXT_TOKENS = 8;
/** A character is four bytes at most; what has not become one by then never will. */
const PENDING_TOKENS = 8;
const REPLACEMENT = '\uFFFD';

export function createTextAssembler(
  model: Pick<LlamaModel, 'detokenize'>,
  prompt: readonly Token[],
  stops: readonly string[],
): TextAssembler {
  const recent = prompt.slice(-CONTEXT_TOKENS);
  let pending: Token[] = [];
  let held = '';
  let stoppingWord = '';

  const decodePending = (): string => {
    const text = model.detokenize(pending, false, recent);
    recent.push(...pending);
    recent.splice(0, Math.max(0, recent.length - CONTEXT_TOKENS));
    pending = [];
    return text;
  };

  const sift = (text: string): string => {
    held += text;
    const at = firstStop(held, stops);
    if (at !== null) {
      stoppingWord = at.stop;
      const before = held.slice(0, at.index);
      held = '';
      return before;
    }
    const certain = held.length - possibleStopLength(held, stops);
    const ready = held.slice(0, certain);
    held = held.slice(certain);
    return ready;
  };

  return {
    get stopped() {
      return stoppingWord !== '';
    },
    get stoppingWord() {
      return stoppingWord;
    },
    push(token) {
      if (stoppingWord !== '') return '';
      pending.push(token);
      const text = model.detokenize(pending, false, recent);
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
