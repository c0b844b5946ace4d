/**
 * What a driver's variable (CUDA_VISIBLE_DEVICES and its like) has to say so that a child sees exactly these of the
 * devices that this process sees; with none, it sees none. Null when this process does not see one of them itself.
 *
 * @param numbers devices, as they are numbered for this process
 * @param listed the variable as it stands here: ids of any kind, which are kept
 */
export function visibleIds(numbers: readonly number[], listed: string | undefined): string | null {
  // A number that no device has hides them all.
  if (numbers.length === 0) return '-1';
  const ids = listed?.split(',').map((id) => id.trim());
  const chosen = numbers.map((number) => (ids === undefined ? String(number) : ids[number]));
  return chosen.includes(undefined) ? null : chosen.join(',');
}
