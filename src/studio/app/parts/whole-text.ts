/** The text of a segment, loaded part by part: what is edited must be all there. */
import type { ChainView, SegmentView } from "../../api/chain-view.ts";
import { askJson } from "../server.ts";

const mostCharacters = 1_000_000;

/** The whole text of a segment of a chain in a file. */
export async function wholeText(chain: ChainView, file: string, segment: SegmentView): Promise<string> {
  let { text } = segment.text;
  const { length } = segment.text;
  if (length > mostCharacters)
    throw new Error(`This text has ${length.toLocaleString("en")} characters: too long to edit here.`);
  while (text.length < length) {
    const path = `segments.${segment.index}.text`;
    const query = new URLSearchParams({ kind: "chain", id: chain.id, in: file, path, from: String(text.length) });
    const part = await askJson<{ text: string }>(`text?${query}`);
    if (part.text === "") break;
    text += part.text;
  }
  return text;
}
