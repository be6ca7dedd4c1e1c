/** What a model meant as an address: it may have written a Markdown link, brackets, quotes or a sentence round it. */

/** The first web address in a text; a bare domain counts. Undefined when there is none. */
export function cleanUrl(text: string): string | undefined {
  const markdown = /\]\(\s*<?(https?:\/\/[^\s>]+)/i.exec(text)?.[1];
  const found = markdown ?? /https?:\/\/[^\s<>"'`|]+/i.exec(text)?.[0];
  if (found) return trimEnd(found);
  const bare = /^\s*((?:[a-z0-9-]+\.)+[a-z]{2,}(?::\d+)?(?:\/[^\s<>"']*)?)\s*$/i.exec(text)?.[1];
  return bare ? `https://${bare}` : undefined;
}

/** Drops punctuation that belongs to the sentence and not to the address. */
function trimEnd(url: string): string {
  let result = url.replace(/[.,;:!?\]}]+$/, "");
  const count = (character: string) => result.split(character).length - 1;
  while (result.endsWith(")") && count(")") > count("(")) result = result.slice(0, -1);
  return result;
}
