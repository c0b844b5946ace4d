import type { CallFormat } from './call-format.js';

/** A piece of a call, as soon as it is certain. */
export interface CallPiece {
  /** Which call of the answer, from 0. */
  readonly index: number;
  /** With the first piece of a call; null afterwards. */
  readonly name: string | null;
  /** More of the arguments, which are JSON in the end. */
  readonly arguments: string;
}

/** Reads calls from the text of a model that is held to the grammar for them, from the first name on. */
export interface CallReader {
  /** At most one piece for each call. */
  push(text: string): readonly CallPiece[];
  /** Calls whose arguments are complete. */
  readonly complete: number;
}

export function createCallReader(format: CallFormat, names: readonly string[]): CallReader {
  let part: 'name' | 'arguments' | 'after' = 'name';
  let unread = '';
  let name = '';
  let begun = 0;
  let complete = 0;
  let end = createEndFinder();

  /** Takes `head` off what is not read yet; false where that has not begun with it so far. */
  const take = (head: string): boolean => {
    if (!unread.startsWith(head)) return false;
    unread = unread.slice(head.length);
    return true;
  };

  const step = (): CallPiece | null | 'wait' => {
    switch (part) {
      case 'name': {
        const found = names.find((each) => take(each + format.beforeArguments(each)));
        if (found === undefined) return 'wait';
        name = found;
        begun += 1;
        part = 'arguments';
        end = createEndFinder();
        return { index: begun - 1, name, arguments: '' };
      }
      case 'arguments': {
        if (unread === '') return 'wait';
        const length = end.find(unread);
        const text = unread.slice(0, length ?? unread.length);
        unread = unread.slice(text.length);
        if (length !== null) {
          complete += 1;
          part = 'after';
        }
        return { index: begun - 1, name: null, arguments: text };
      }
      case 'after': {
        if (format.between === null || !take(format.afterArguments(name) + format.between)) return 'wait';
        part = 'name';
        return null;
      }
    }
  };

  return {
    get complete() {
      return complete;
    },
    push(text) {
      unread += text;
      const pieces: CallPiece[] = [];
      for (let piece = step(); piece !== 'wait'; piece = step()) {
        if (piece === null) continue;
        const last = pieces.at(-1);
        if (last?.index !== piece.index) pieces.push(piece);
        else pieces[pieces.length - 1] = { ...last, arguments: last.arguments + piece.arguments };
      }
      return pieces;
    },
  };
}

/** Finds the end of a JSON object that comes piece by piece. */
function createEndFinder(): { find(text: string): number | null } {
  let depth = 0;
  let quoted = false;
  let escaped = false;
  return {
    find(text) {
      for (let at = 0; at < text.length; at += 1) {
        const character = text[at];
        if (escaped) escaped = false;
        else if (quoted) {
          if (character === '\\') escaped = true;
          else if (character === '"') quoted = false;
        } else if (character === '"') quoted = true;
        else if (character === '{' || character === '[') depth += 1;
        else if (character === '}' || character === ']') {
          depth -= 1;
          if (depth === 0) return at + 1;
        }
      }
      return null;
    },
  };
}
