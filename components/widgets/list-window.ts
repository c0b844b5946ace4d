/** The part of a list that is on the screen. */
export interface ListWindow {
  readonly offset: number;
  readonly height: number;
  /** Rows that do not fit before and after. */
  readonly above: number;
  readonly below: number;
}

/**
 * Moves the window as little as needed to keep the selected row in it, and never past the end.
 * `selected` is an index, or -1 when nothing is selected.
 */
export function listWindow(length: number, height: number, selected: number, previousOffset: number): ListWindow {
  const visible = Math.max(0, height);
  let offset = Math.max(0, Math.min(previousOffset, length - visible));
  if (selected >= 0) {
    if (selected < offset) offset = selected;
    else if (selected >= offset + visible) offset = selected - visible + 1;
  }
  offset = Math.max(0, offset);
  return { offset, height: visible, above: offset, below: Math.max(0, length - offset - visible) };
}
