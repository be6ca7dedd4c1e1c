/** Aligns sequences of moves: the same move of several systems is in one row, and each system keeps its order. */

/** Rows of places: `row[i]` is the index in the i-th sequence, or undefined where it has no such move. */
export function alignMoves(sequences: readonly (readonly string[])[]): (number | undefined)[][] {
  let rows: { key: string; at: (number | undefined)[] }[] = [];
  for (const [column, sequence] of sequences.entries()) {
    const shared = commonPlaces(
      rows.map(({ key }) => key),
      sequence,
    );
    const merged: typeof rows = [];
    let row = 0;
    let move = 0;
    const none = () => new Array<number | undefined>(sequences.length).fill(undefined);
    for (const [sharedRow, sharedMove] of [...shared, [rows.length, sequence.length] as const]) {
      for (; row < sharedRow; row++) merged.push(rows[row]!);
      for (; move < sharedMove; move++) merged.push({ key: sequence[move]!, at: none().with(column, move) });
      if (sharedRow < rows.length) {
        merged.push({ key: rows[row]!.key, at: rows[row]!.at.with(column, move) });
        row++;
        move++;
      }
    }
    rows = merged;
  }
  return rows.map(({ at }) => at);
}

/** The longest common subsequence of two short lists, as pairs of places. */
function commonPlaces(a: readonly string[], b: readonly string[]): [number, number][] {
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      lengths[i]![j] = a[i] === b[j] ? lengths[i + 1]![j + 1]! + 1 : Math.max(lengths[i + 1]![j]!, lengths[i]![j + 1]!);
  const places: [number, number][] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) places.push([i++, j++]);
    else if (lengths[i + 1]![j]! >= lengths[i]![j + 1]!) i++;
    else j++;
  }
  return places;
}
