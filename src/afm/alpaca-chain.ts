/**
 * The published training data of Agent Foundation Models: rows of instruction, input and output, the output one chain
 * as text. Each is read by our own tag reader into segments whose joined text is the row's output, letter by letter,
 * and is then checked against its profile. White space around an observation belongs to it, because it is not the
 * model's to learn.
 */
import type { Profile } from "../core/profile.ts";
import { looseText, type Segment, type Trajectory } from "../core/trajectory.ts";
import { emptyUsage } from "../core/usage.ts";
import { tagNames } from "../language/profile.ts";
import { builtInProfiles } from "../language/profiles.ts";
import { tagReader } from "../language/tag-reader.ts";
import { validateSegments } from "../language/validate.ts";

/** A row as LLaMA-Factory's alpaca format has it. */
export interface AlpacaRow {
  instruction?: string;
  input?: string;
  output?: string;
  system?: string;
}

/** A chain that was read, or why none was. `problems` are what a well-formed chain does not contain, by name. */
export type ReadChain =
  | { trajectory: Trajectory; problems: string[]; reason?: undefined }
  | { trajectory?: undefined; problems: string[]; reason: string };

/** Reads one row; the profile is told, or known from the tools that the chain calls. */
export function alpacaChain(row: AlpacaRow, id: string, options: { profile?: Profile } = {}): ReadChain {
  const { instruction = "", input = "", output = "" } = row;
  if (typeof output !== "string" || output.trim() === "") return { problems: [], reason: "no output" };
  const profile = options.profile ?? profileOf(output);
  if (!profile) return { problems: [], reason: "no tag of a known profile" };
  const { segments, problems } = readSegments(output, profile);
  const answer = segments.findLast((segment) => segment.tag === profile.answer)?.text.trim() ?? null;
  if (answer === null) return { problems, reason: "no answer" };
  const content = [instruction, input].filter((part) => part !== "").join("\n");
  const violations = validateSegments(profile, segments);
  return {
    problems,
    trajectory: {
      version: 1,
      id,
      taskId: id,
      profile: profile.name,
      language: { profile, tools: [] },
      model: "imported",
      prompt: [
        ...(row.system ? [{ role: "system" as const, content: row.system }] : []),
        { role: "user" as const, content },
      ],
      segments,
      answer,
      ending: { reason: "answered" },
      usage: emptyUsage(),
      violations,
      source: { kind: "imported", id },
    },
  };
}

/** The built-in profile that has every tool the text calls; the smallest where several have. */
function profileOf(text: string): Profile | undefined {
  const called = (profile: Profile) => profile.tags.filter((tag) => tag.tool && text.includes(`<${tag.name}>`));
  const all = Object.values(builtInProfiles);
  const tools = new Set(all.flatMap((profile) => called(profile).map((tag) => tag.name)));
  if (tools.size === 0) return text.includes("<answer>") ? all[0] : undefined;
  return all
    .filter((profile) => called(profile).length === tools.size)
    .sort((a, b) => a.tags.length - b.tags.length)[0];
}

function readSegments(text: string, profile: Profile): { segments: Segment[]; problems: string[] } {
  const segments: Segment[] = [];
  const problems: string[] = [];
  const verbatim = profile.tags.filter((tag) => tag.body.kind === "code" || tag.body.kind === "json");
  const reader = tagReader(
    { tags: tagNames(profile), verbatim: [...verbatim.map((tag) => tag.name), profile.observation] },
    {
      close({ tag, text: body, lead, closed }) {
        const by = tag === profile.observation ? "tool" : "model";
        const raw = tag === looseText ? `${lead}${body}` : `${lead}<${tag}>${body}${closed ? `</${tag}>` : ""}`;
        segments.push({ tag, text: body, by, raw });
      },
      problem: ({ kind }) => void problems.push(kind),
    },
  );
  reader.write(text);
  const rest = reader.end();
  const last = segments.at(-1);
  if (last) last.raw += rest;
  segments.forEach((segment, index) => {
    const before = segments[index - 1];
    if (before?.tag !== profile.observation || segment.tag === profile.observation) return;
    const space = /^\s*/.exec(segment.raw!)![0];
    before.raw += space;
    segment.raw = segment.raw!.slice(space.length);
  });
  return { segments, problems };
}
