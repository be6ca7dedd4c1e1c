/** The paper's quality filters: enough work, whole records, right answers, no repetition, the profile's rules. */
import { cutText } from "../../base/text/cut-text.ts";
import type { Grader } from "../../core/grader.ts";
import type { TeamRun } from "../../core/team-run.ts";
import type { Segment, Trajectory } from "../../core/trajectory.ts";
import { tagSpec } from "../../language/profile.ts";
import { validateSegments } from "../../language/validate.ts";
import { names } from "../restated.ts";
import type { Stage } from "./stage.ts";
import { gramsOf, wordsOf } from "./word-grams.ts";

/** How many times a role or tool was activated: every tag of the model's but thoughts and the answer. */
export function interactionsOf(trajectory: Trajectory, think = "think", answer = "answer"): number {
  return trajectory.segments.filter(
    (segment) => segment.by === "model" && segment.tag !== think && segment.tag !== answer,
  ).length;
}

/** Drops chains in which too little happened to learn teamwork from (the paper: fewer than 5 interactions). */
export function complexityStage(minInteractions: number): Stage {
  return {
    name: "complexity",
    judge(trajectory, { profile }) {
      const count = interactionsOf(trajectory, profile.think, profile.answer);
      const measured = { measure: "interactions", value: count, threshold: minInteractions };
      if (count >= minInteractions) return measured;
      return {
        reason: "too few interactions",
        detail: `${count}, at least ${minInteractions} are wanted`,
        ...measured,
      };
    },
  };
}

/** Drops what the recording cut: a model must not learn from observations it would not have seen like that. */
export function completenessStage(): Stage {
  return {
    name: "completeness",
    judge(trajectory, { run }) {
      const [refused] = run?.completeness.untrainable ?? [];
      if (refused) return { reason: refused.reason, detail: [refused.step, refused.detail].filter(Boolean).join(": ") };
      if (run?.completeness.truncated)
        return { reason: "truncated recording", detail: run.completeness.notes.join("; ") };
      if (run && !run.completeness.content) return { reason: "recording without content" };
      const ambiguous = run?.agents.filter((agent) => agent.ambiguousLink).length ?? 0;
      if (ambiguous > 0)
        return { reason: "ambiguous recording", detail: `${ambiguous} links between agents are not sure` };
      for (const [index, segment] of trajectory.segments.entries()) {
        if (segment.by !== "tool") continue;
        const problem = cutProblem(segment.text);
        if (problem) return { reason: "truncated observation", detail: `segment ${index}: ${problem}` };
      }
      const used = run && usedOfCut(trajectory, run);
      return used ? { reason: "truncated observation", detail: `"${used}" is only in what the profile cuts` } : null;
    },
  };
}

/** A name or number that the model says though, of all that it is shown, it stood only where the profile cuts an observation. */
function usedOfCut({ prompt, segments }: Trajectory, { question, steps }: TeamRun): string | undefined {
  if (!segments.some(({ call }) => call?.cutCharacters)) return undefined;
  const results = steps.flatMap(({ toolCalls }) => toolCalls.map(({ result = "" }) => result)).join("\n");
  let shown = [question, ...prompt.map(({ content }) => content)].join("\n");
  for (const { by, text } of segments) {
    const said = by === "model" ? names(text).filter((name) => name.length > 2) : [];
    const lost = said.find((name) => !shown.includes(name) && results.includes(name));
    if (lost) return lost;
    shown += `\n${text}`;
  }
  return undefined;
}

function cutProblem(text: string): string | undefined {
  const why = cutText(text, /^\s*(?:[[{]"|\[\{|\{\s*")/.test(text));
  // Half of a surrogate pair, or its replacement at the very end: cut inside a character.
  return why ?? (/(?:[\ud800-\udbff]|\ufffd)$/.test(text) ? "ends inside a character" : undefined);
}

/** Drops wrong answers, and what can't be graded where that is not kept. A grader that can't decide is counted under its own reason. */
export function correctnessStage(grader: Grader | undefined, ungraded: "drop" | "keep" = "drop"): Stage {
  return {
    name: "correctness",
    async judge(trajectory, { task, signal }) {
      if (task?.rightness === "wrong") return { reason: "wrong answer", detail: "known from the recording" };
      const right = task && (task.rightness ?? "task file");
      const gradable =
        right !== undefined && right !== "assumed" && (task!.answers.length > 0 || task!.tests !== undefined);
      if (!gradable || !grader) {
        if (trajectory.reward !== undefined) {
          const measured = { measure: "reward", value: trajectory.reward, threshold: 0 };
          return trajectory.reward > 0 ? measured : { reason: "wrong answer", detail: "reward 0", ...measured };
        }
        return ungraded === "keep"
          ? { detail: "assumed right" }
          : { reason: "nothing to grade by", detail: `task ${trajectory.taskId}` };
      }
      const grade = await grader(task!, trajectory.answer, { signal });
      const measured = { measure: "grade", value: grade.score, threshold: 1 };
      if (grade.correct === true) return { detail: `right by ${right}`, ...measured };
      const reason = grade.correct === null ? "grader undecided" : "wrong answer";
      return { reason, detail: grade.reason, ...measured };
    },
  };
}

/** Share of a longer text of the model's that may be in an earlier text already. */
const maxCopiedShare = 0.6;
/** Shorter texts than this many words may repeat: "read the next page" is not copying. */
const minCopiedWords = 16;

/** Drops repeated tool inputs, and texts that copy an earlier thought or an observation. */
export function redundancyStage(): Stage {
  return {
    name: "redundancy",
    judge(trajectory, { profile }) {
      const repeated = repeatedCalls(trajectory, (tag) => tagSpec(profile, tag)?.tool);
      if (repeated.length > 0) {
        const detail = repeated.slice(0, 3).join("; ").slice(0, 200);
        const measured = { measure: "repeated calls", value: repeated.length, threshold: 0 };
        return { reason: "repeated tool input", detail, ...measured };
      }
      let most = 0;
      const seen = new Set<number>();
      for (const [index, segment] of trajectory.segments.entries()) {
        const words = wordsOf(segment.text);
        const grams = gramsOf(words, 4);
        const isRole = segment.by === "model" && tagSpec(profile, segment.tag)?.tool === undefined;
        const isProse = isRole && (tagSpec(profile, segment.tag)?.body.kind ?? "text") === "text";
        // A new plan repeats what remains of the old one, and an answer what was suggested.
        const mayRepeat = segment.tag === "plan" || segment.tag === profile.answer;
        if (isProse && !mayRepeat && words.length >= minCopiedWords) {
          let copied = 0;
          for (const gram of grams) if (seen.has(gram)) copied++;
          const share = copied / grams.length;
          most = Math.max(most, share);
          if (share > maxCopiedShare) {
            const detail = `segment ${index} <${segment.tag}>: ${Math.round(100 * share)} % stands before it`;
            return {
              reason: "copied content",
              detail,
              measure: "copied share",
              value: share,
              threshold: maxCopiedShare,
            };
          }
        }
        for (const gram of grams) seen.add(gram);
      }
      return { measure: "copied share", value: most, threshold: maxCopiedShare };
    },
  };
}

/** Calls made again, where the first did not fail or nothing else came of it. */
function repeatedCalls(trajectory: Trajectory, toolOf: (tag: string) => string | undefined): string[] {
  const seen = new Map<string, Segment>();
  const repeated: string[] = [];
  const waiting: string[] = [];
  for (const segment of trajectory.segments) {
    const tool = segment.by === "model" ? toolOf(segment.tag) : undefined;
    if (tool !== undefined) waiting.push(`${tool} ${segment.text.trim().replace(/\s+/g, " ")}`);
    else if (segment.by !== "model") {
      const key = waiting.shift();
      if (key === undefined) continue;
      const first = seen.get(key);
      if (first && (!hasFailed(first) || first.text === segment.text)) repeated.push(key);
      else seen.set(key, segment);
    }
  }
  return repeated;
}

/** Whether a call brought an error, as the tool's own or as its text: tools of other systems often return what went wrong. */
function hasFailed({ by, call, text }: Segment): boolean {
  if (by === "runtime" || call?.ok === false) return true;
  return /^\W*(?:\w*(?:error|exception)\b|failed|failure|time[d ]*out|traceback|http [45]\d\d)/i.test(text);
}

/** Drops chains that break the profile's rules. */
export function complianceStage(): Stage {
  return {
    name: "compliance",
    judge(trajectory, { profile }) {
      if (trajectory.profile !== profile.name) {
        return { reason: "other profile", detail: `${trajectory.profile}, not ${profile.name}` };
      }
      const violation = validateSegments(profile, trajectory.segments)[0];
      if (violation) return { reason: violation.rule, detail: `segment ${violation.segment}: ${violation.message}` };
      if (trajectory.ending.reason !== "answered") return { reason: "not answered", detail: trajectory.ending.reason };
      return null;
    },
  };
}
