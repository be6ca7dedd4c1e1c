/**
 * A worked example for models that were not trained for chains: rules alone do not tell a small model what to write. It
 * follows from the profile's own order, so it fits every profile.
 */
import { type Profile, type TagSpec, tagSpec } from "./profile.ts";

const question = "A baker fills 7 trays with 24 rolls each and sells 95. How many rolls are left?";
const texts: Readonly<Record<string, string>> = {
  plan: "1. Find out 7 times 24 minus 95. 2. Answer.",
  reflection: "The result is what was asked for.",
  suggested_answer: "73",
};

export function withExample(profile: Profile): Profile {
  const steps = [...toTool(profile), ...toAnswer(profile)].map((tag) => written(profile, tag)).join("");
  return { ...profile, advice: [...profile.advice, `\n\nExample, for the question "${question}":\n${steps}`] };
}

/** The first tags of a chain up to its first call. */
function toTool(profile: Profile): TagSpec[] {
  const starts = profile.start.map((name) => tagSpec(profile, name)!);
  const start = starts.find(({ tool }) => tool === undefined) ?? starts[0]!;
  const call = start.next.map((name) => tagSpec(profile, name)).find((tag) => tag?.tool);
  return start.tool || !call ? [start] : [start, call];
}

/** The shortest way from there to the answer, without another call. */
function toAnswer(profile: Profile): TagSpec[] {
  const ways: TagSpec[][] = [[toTool(profile).at(-1)!]];
  for (const way of ways) {
    for (const name of way.at(-1)!.next) {
      const tag = tagSpec(profile, name);
      if (!tag || tag.tool || way.includes(tag)) continue;
      if (tag.name === profile.answer) return [...way.slice(1), tag];
      ways.push([...way, tag]);
    }
  }
  return [];
}

function written(profile: Profile, tag: TagSpec): string {
  const think = tag.think === "required" ? `<${profile.think}> ${tag.job.split(/[.:,]/)[0]}.</${profile.think}>` : "";
  const told = tag.tool
    ? `<${profile.observation}>${tag.tool === "code" ? "73" : "7 * 24 - 95 = 73"}</${profile.observation}>`
    : "";
  return `${think}<${tag.name}>${bodyOf(profile, tag)}</${tag.name}>${told}`;
}

function bodyOf(profile: Profile, { name, body }: TagSpec): string {
  if (name === profile.answer) return profile.advice.some((line) => line.includes("boxed")) ? " \\boxed{73}" : " 73";
  const program = "print(7 * 24 - 95)";
  if (body.kind === "code") return body.fence === null ? program : `\n\`\`\`${body.fence}\n${program}\n\`\`\`\n`;
  if (body.kind === "json") return `\n\`\`\`json\n${body.example}\n\`\`\`\n`;
  if (body.kind === "ratings") return `\n${body.criteria.map((one) => `${one} : ${body.values[0]}`).join("\n")}\n`;
  if (body.kind === "score") return ` ${body.phrase}${body.max}`;
  return body.kind === "urls" ? " https://example.org/sum" : ` ${texts[name] ?? "7 * 24 - 95"}`;
}
