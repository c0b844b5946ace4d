/** The text between the marks of a picture in a document, without them and without the fence; null: there is none. */
export function blockOf(document: string, name: string): string | null {
  return patternOf(name).exec(document)?.[2] ?? null;
}

/** The document with another text in the place of that picture. Throws where it has no such place. */
export function withBlock(document: string, name: string, text: string): string {
  const pattern = patternOf(name);
  if (!pattern.test(document)) throw new Error(`There is no place for the picture "${name}".`);
  return document.replace(pattern, (_all, head: string, _old: string, tail: string) => `${head}${text}${tail}`);
}

function patternOf(name: string): RegExp {
  return new RegExp(`(<!-- picture: ${name} -->\\n+\`\`\`text\\n)([^]*?)(\\n\`\`\`\\n+<!-- /picture -->)`, 'u');
}
