/**
 * What becomes of the notices when the probes' errors change: those that are over go, new ones are said, and when none is
 * left it is said that all can be read again. An error begins with whom it is about and a colon.
 */
export function deviceNotices(
  before: readonly string[],
  now: readonly string[],
): { readonly gone: readonly string[]; readonly said: readonly string[] } {
  const gone = before.filter((error) => !now.includes(error));
  const said = now.filter((error) => !before.includes(error));
  if (now.length > 0 || before.length === 0) return { gone, said };
  const whom = new Set(before.map((error) => /^[^:]{1,60}(?=: )/u.exec(error)?.[0] ?? 'devices'));
  return { gone, said: [`${[...whom].join(', ')}: read again`] };
}
