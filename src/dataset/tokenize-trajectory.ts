/**
 * A trajectory as one sequence of token ids, with the owner of each token. Three rules keep the loss mask exact. Ids
 * that came with a segment are used as they are. What the model wrote is encoded together, as it would write it, and never
 * with text of others, so no token contains parts of both. Tags become special tokens where the
 * tokenizer has them, and the text between tags never does.
 */
import type { Tokenizer } from "../core/tokenizer.ts";
import { type Segment, type Trajectory, writtenForm } from "../core/trajectory.ts";

export interface TokenizedTrajectory {
  tokens: number[];
  /** Index of the segment that each token belongs to; -1 for the prompt. */
  owners: number[]; // [token]
  promptLength: number;
}

/** Encodes a trajectory, or its first `segments` segments. */
export function tokenizeTrajectory(
  trajectory: Pick<Trajectory, "prompt" | "promptTokens" | "segments">,
  tokenizer: Tokenizer,
  options: { segments?: number } = {},
): TokenizedTrajectory {
  const tokens = [...(trajectory.promptTokens ?? tokenizer.encodePrompt(trajectory.prompt))];
  const promptLength = tokens.length;
  const owners: number[] = new Array(promptLength).fill(-1);
  const segments = trajectory.segments.slice(0, options.segments);
  for (let start = 0; start < segments.length; ) {
    const first = segments[start]!;
    if (first.tokens || first.by !== "model") {
      for (const token of first.tokens ?? encodeShown(first, tokenizer)) {
        tokens.push(token);
        owners.push(start);
      }
      start++;
      continue;
    }
    let end = start + 1;
    while (segments[end]?.by === "model" && !segments[end]!.tokens) end++;
    const run = encodeRun(segments.slice(start, end), tokenizer);
    for (let i = 0; i < run.tokens.length; i++) {
      tokens.push(run.tokens[i]!);
      owners.push(start + run.owners[i]!);
    }
    start = end;
  }
  return { tokens, owners, promptLength };
}

/** What stands before the text of a segment that the model did not write. */
export function shownBefore(segment: Segment): string {
  const written = writtenForm(segment);
  const opened = written.indexOf(`<${segment.tag}>`) + segment.tag.length + 2;
  return written.slice(0, Math.max(opened, written.indexOf(segment.text, opened)));
}

/** Ids as the runtime shows them: tags apart from the text, so that none depends on what the text begins with. */
function encodeShown(segment: Segment, tokenizer: Tokenizer): number[] {
  const [before, written] = [shownBefore(segment), writtenForm(segment)];
  if (!written.startsWith(segment.text, before.length)) return tokenizer.encode(written);
  return [
    ...tokenizer.encodeWithSpecials(before),
    ...tokenizer.encode(segment.text),
    ...tokenizer.encodeWithSpecials(written.slice(before.length + segment.text.length)),
  ];
}

/** Ids of segments that the model wrote one after the other, each with the segment in which its first byte stands. */
function encodeRun(segments: readonly Segment[], tokenizer: Tokenizer): { tokens: number[]; owners: number[] } {
  const tokens = encodePieces(
    segments.flatMap((segment) => segmentPieces(segment, tokenizer)),
    tokenizer,
  );
  if (segments.length === 1) return { tokens, owners: tokens.map(() => 0) };
  const lengths = segments.map((segment) => Buffer.byteLength(writtenForm(segment)));
  const ends = lengths.map((_, index) => lengths.slice(0, index + 1).reduce((sum, length) => sum + length, 0));
  const owners: number[] = [];
  let at = 0;
  let owner = 0;
  for (const token of tokens) {
    while (owner < segments.length - 1 && at >= ends[owner]!) owner++;
    owners.push(owner);
    at += tokenizer.tokenBytes(token).length;
  }
  if (at === ends.at(-1)) return { tokens, owners };
  // Not a byte-exact tokenizer (it adds or drops spaces), so places can't be counted: encode each segment alone.
  const alone = segments.map((segment) => encodePieces(segmentPieces(segment, tokenizer), tokenizer));
  return { tokens: alone.flat(), owners: alone.flatMap((ids, index) => ids.map(() => index)) };
}

interface Piece {
  text: string;
  /** Id of the special token for the text. */
  special?: number;
}

/** Opening tag, body and closing tag apart, where the tokenizer has tokens for the tags; else one piece of text. */
function segmentPieces(segment: Segment, tokenizer: Tokenizer): Piece[] {
  const written = writtenForm(segment);
  const pieces: Piece[] = [];
  let rest = written;
  const openTag = `<${segment.tag}>`;
  const closeTag = `</${segment.tag}>`;
  const open = tokenizer.specialToken(openTag);
  const close = tokenizer.specialToken(closeTag);
  const openAt = rest.indexOf(openTag);
  if (open !== undefined && openAt !== -1 && rest.slice(0, openAt).trim() === "") {
    pieces.push({ text: rest.slice(0, openAt) }, { text: openTag, special: open });
    rest = rest.slice(openAt + openTag.length);
  }
  const closeAt = rest.lastIndexOf(closeTag);
  if (close !== undefined && closeAt !== -1 && rest.slice(closeAt + closeTag.length).trim() === "") {
    pieces.push({ text: rest.slice(0, closeAt) }, { text: closeTag, special: close });
    rest = rest.slice(closeAt + closeTag.length);
  }
  pieces.push({ text: rest });
  return pieces;
}

function encodePieces(pieces: readonly Piece[], tokenizer: Tokenizer): number[] {
  const tokens: number[] = [];
  let plain = "";
  const flush = () => {
    if (plain !== "") for (const token of tokenizer.encode(plain)) tokens.push(token);
    plain = "";
  };
  for (const piece of pieces) {
    if (piece.special === undefined) plain += piece.text;
    else {
      flush();
      tokens.push(piece.special);
    }
  }
  flush();
  return tokens;
}
