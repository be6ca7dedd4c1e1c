/** Finding special-token strings in text: the longest at the earliest place. */

/** A pattern that matches any of the strings, longest first; undefined when there are none. */
export function specialPattern(specials: Iterable<string>): RegExp | undefined {
  const longestFirst = [...specials].sort((a, b) => b.length - a.length);
  const escaped = longestFirst.map((special) => special.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return escaped.length === 0 ? undefined : new RegExp(escaped.join("|"), "g");
}
