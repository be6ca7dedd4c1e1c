/** An address without the punctuation of the sentence or Markdown link around it; brackets that belong to it stay. */
export function addressAlone(url: string): string {
  let end = url.length;
  while (end > 0 && ".,;:!?]}".includes(url.charAt(end - 1))) end--;
  let open = 0; // brackets opened and not yet closed before the end; below 0 there are more closed than opened
  for (let at = 0; at < end; at++) open += url[at] === "(" ? 1 : url[at] === ")" ? -1 : 0;
  for (; open < 0 && url[end - 1] === ")"; end--) open++;
  return url.slice(0, end);
}
