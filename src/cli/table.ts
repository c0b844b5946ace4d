/** Rows as lines of equal columns, two blanks apart; columns from `numbersFrom` on are aligned to the right. */
export function alignColumns(rows: readonly (readonly string[])[], numbersFrom: number = Infinity): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return column >= numbersFrom ? cell.padStart(width) : cell.padEnd(width);
      })
      .join('  ')
      .trimEnd(),
  );
}
