/**
 * Whole numbers that add up to `whole` and stand for the parts as closely as whole numbers can
 * (largest remainder). The parts are in any unit; a share differs from the exact value by less than one.
 */
export function sharesOf(parts: readonly number[], whole: number): number[] {
  const sum = parts.reduce((total, part) => total + part, 0);
  if (sum <= 0) return parts.map(() => 0);
  const exact = parts.map((part) => (part / sum) * whole);
  const shares = exact.map(Math.floor);
  const missing = whole - shares.reduce((total, share) => total + share, 0);
  const byRemainder = exact
    .map((value, index) => ({ index, remainder: value - Math.floor(value) }))
    .sort((a, b) => b.remainder - a.remainder || a.index - b.index);
  for (const { index } of byRemainder.slice(0, missing)) shares[index] = (shares[index] ?? 0) + 1;
  return shares;
}

/** Like `sharesOf`, but a part that is not zero gets at least one, at the cost of the largest. */
export function visibleSharesOf(parts: readonly number[], whole: number): number[] {
  const shares = sharesOf(parts, whole);
  for (const [index, part] of parts.entries()) {
    if (part <= 0 || shares[index] !== 0) continue;
    const largest = shares.indexOf(Math.max(...shares));
    if ((shares[largest] ?? 0) <= 1) break;
    shares[largest] = (shares[largest] ?? 0) - 1;
    shares[index] = 1;
  }
  return shares;
}
