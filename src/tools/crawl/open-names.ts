/**
 * The names of what is open, the innermost last. A closing name that is not open is known at once, without a look at the
 * whole list: a page of nothing but such names would otherwise cost the square of its length.
 */

/** No normal page comes near it; hundreds of thousands would slow down garbage collection. */
const most = 1_000;

/** Nothing open yet. */
export function openNames() {
  const names: string[] = [];
  const counts = new Map<string, number>();
  return {
    /** How many are open. */
    get depth() {
      return names.length;
    },
    get innermost() {
      return names.at(-1);
    },
    get outermost() {
      return names[0];
    },
    /** False where too many are open already: this one is then not remembered. */
    open(name: string) {
      if (names.length === most) return false;
      names.push(name);
      counts.set(name, (counts.get(name) ?? 0) + 1);
      return true;
    },
    /** Closes the innermost of this name with all inside it, and says how many are open then; undefined where none has it. */
    close(name: string) {
      if (!counts.get(name)) return undefined;
      let closed: string;
      do {
        closed = names.pop()!;
        counts.set(closed, counts.get(closed)! - 1);
      } while (closed !== name);
      return names.length;
    },
  };
}
