import { visibleText } from './clean.js';

/**
 * A word for a shell, as it is: in single quotes, in which everything is itself but another one, where need be; with
 * escapes (`$'a\\tb'`, as bash and zsh read them) where it holds what nobody would see.
 */
export function shellWord(word: string): string {
  if (/^[\w@%+=:,./-]+$/u.test(word)) return word;
  if (visibleText(word) === word) return `'${word.replaceAll("'", `'\\''`)}'`;
  return `$'${visibleText(word.replace(/[\\']/gu, '\\$&'))}'`;
}
