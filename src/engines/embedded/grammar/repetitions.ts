/** Texts, classes of characters and comments, in which braces mean nothing. */
const NO_REPETITIONS = /"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]|#[^\n]*/gsu;
const REPETITION = /\{\s*(\d+)\s*(?:,\s*(\d*)\s*)?\}/gu;

/** llama.cpp writes repetitions out. */
export const MOST_REPETITIONS = 1000;

/**
 * Whether a grammar (GBNF) repeats something at most fewer times than at least, or more often than anybody needs: llama.cpp
 * takes the difference for a huge number, and all memory to write it out.
 */
export function hasEndlessRepetition(grammar: string): boolean {
  const repetitions = [...grammar.replaceAll(NO_REPETITIONS, ' ').matchAll(REPETITION)];
  return repetitions.some(([, least = '', most = '']) => {
    const [from, to] = [Number(least), most === '' ? Number(least) : Number(most)];
    return to < from || to > MOST_REPETITIONS;
  });
}
