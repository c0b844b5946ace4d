/** A word for a POSIX shell, as it is: in single quotes, in which everything is itself but another one, where need be. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/u.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
