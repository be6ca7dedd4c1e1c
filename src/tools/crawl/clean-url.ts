/** What a model meant as an address: it may have written a Markdown link, brackets, quotes or a sentence round it. */
import { addressAlone } from "../../base/text/address-alone.ts";

/** The first web address in a text; a bare domain counts. Undefined when there is none. */
export function cleanUrl(text: string): string | undefined {
  const markdown = /\]\(\s*<?((?:https?|coa):\/\/[^\s>]+)/i.exec(text)?.[1];
  const found = markdown ?? /(?:https?|coa):\/\/[^\s<>"'`|]+/i.exec(text)?.[0];
  if (found) return addressAlone(found);
  const bare = /^\s*((?:[a-z0-9-]+\.)+[a-z]{2,}(?::\d+)?(?:\/[^\s<>"']*)?)\s*$/i.exec(text)?.[1];
  return bare ? `https://${bare}` : undefined;
}
