import type { ModelId, ModelView } from '../../src/client/types.js';
import { modelTone, type Tone } from './tones.js';

/** How a model is told apart in the bars: a letter first, a colour as well. */
export interface ModelMark {
  readonly letter: string;
  readonly tone: Tone;
}

const ALPHABET = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';

/**
 * A mark for each model: the first letter of its name or of a later word in it, else any that is still free. With more models
 * than letters the rest share `?`.
 */
export function modelMarks(models: readonly ModelView[]): ReadonlyMap<ModelId, ModelMark> {
  const marks = new Map<ModelId, ModelMark>();
  const taken = new Set<string>();
  for (const [index, model] of models.entries()) {
    const letter = freeLetter(model.id, taken);
    taken.add(letter);
    marks.set(model.id, { letter, tone: modelTone(index) });
  }
  return marks;
}

/** The mark of a model that has left the catalog while its memory is still seen. */
export const UNKNOWN_MARK: ModelMark = { letter: '?', tone: 'plain' };

function freeLetter(id: ModelId, taken: ReadonlySet<string>): string {
  const name = id.slice(id.lastIndexOf('/') + 1).toLowerCase();
  const words = name.split(/[^a-z]+/).filter((word) => word !== '');
  const letters = words.join('');
  const first = letters.charAt(0);
  // `sample-large` is better an l than any other letter; the b of `8b` tells nothing.
  const initials = words
    .filter((word) => word.length > 1)
    .map((word) => word.charAt(0))
    .join('');
  const candidates = `${first}${initials}${first.toUpperCase()}${letters}${letters.toUpperCase()}${ALPHABET}`;
  return Array.from(candidates).find((letter) => !taken.has(letter)) ?? '?';
}
