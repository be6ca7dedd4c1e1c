/** What a model meant as an address: it may have written a Markdown link, brackets, quotes or a sentence round it. */

/** The first web address in a text; a bare domain counts. Undefined when there is none. */
export function cleanUrl(text: string): string | undefined {
  const markdown = /\]\(\s*<?((?:https?|coa):\/\/[^\s>]+)/i.exec(text)?.[1];
  const found = markdown ?? /(?:https?|coa):\/\/[^\s<>"'`|]+/i.exec(text)?.[0];
  if (found) return trimEnd(found);
  const bare = /^\s*((?:[a-z0-9-]+\.)+[a-z]{2,}(?::\d+)?(?:\/[^\s<>"']*)?)\s*$/i.exec(text)?.[1];
  return bare ? `https://${bare}` : undefined;
}

/** Drops punctuation that belongs to the sentence and not to the address. */
function trimEnd(url: string): string {
  let end = url.length;
  while (end > 0 && ".,;:!?]}".includes(url.charAt(end - 1))) end--;
  let open = 0;
  for (let at = 0; at < end; at++) open += url[at] === "(" ? 1 : url[at] === ")" ? -1 : 0;
  for (; open < 0 && url[end - 1] === ")"; end--) open++;
  return url.slice(0, end);
}
