/**
 * The test that a filter text stands for: every word must occur (in any case), every word after `!` must not.
 * A lone `!` is a word that is still being typed and means nothing yet.
 */
export function matcher(filter: string): (text: string) => boolean {
  const words = filter
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '' && word !== '!');
  return (text) => {
    const searched = text.toLowerCase();
    return words.every((word) => (word.startsWith('!') ? !searched.includes(word.slice(1)) : searched.includes(word)));
  };
}
