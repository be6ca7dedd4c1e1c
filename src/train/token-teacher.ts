/**
 * A teacher that says of every token the student wrote how likely it finds it. What the student then gains is log p of the
 * teacher minus log p of the student, token by token: a dense signal in the student's own states. Ids must mean the same to
 * both, so a teacher with another vocabulary is refused before the first step.
 */
import type { Engine, Example } from "../core/engine.ts";
import { UsageError } from "../core/errors.ts";
import type { Tokenizer } from "../core/tokenizer.ts";
import type { ExtraLoss } from "./extra-loss.ts";
import { microBatches } from "./take-step.ts";

export interface TokenTeacher {
  readonly name: string;
  readonly tokenizer: Tokenizer;
  /** Log-probability of each target, at the temperature that the student samples with. */
  score(examples: readonly Example[], temperature: number): Promise<Float32Array[]>; // [example][token]
}

/**
 * Adds `coefficient * (log p_teacher - log p_student)` to the advantage of every token that the student sampled. A frozen copy of
 * the starting model as teacher is the usual KL penalty; a better model is on-policy distillation.
 */
export function teacher(of: TokenTeacher, coefficient = 1): ExtraLoss {
  return {
    name: `teacher ${of.name}`,
    coefficient,
    keepsAll: true,
    check: (student) => assertSameVocabulary(student, of.tokenizer),
    async beforeUpdates({ trained, temperature }) {
      const scores = await of.score(
        trained.map(({ example }) => example),
        temperature,
      );
      trained.forEach(({ example: { advantages, oldLogprobs }, sampled }, index) => {
        sampled.forEach((mark, at) => {
          if (mark !== 0) advantages![at]! += coefficient * (scores[index]![at]! - (oldLogprobs?.[at] ?? 0));
        });
      });
      return undefined;
    },
  };
}

export function engineTeacher(
  engine: Pick<Engine, "name" | "forward">,
  tokenizer: Tokenizer,
  options: { microBatchTokens?: number } = {},
): TokenTeacher {
  return {
    name: engine.name,
    tokenizer,
    async score(examples, temperature) {
      const scores: Float32Array[] = [];
      for (const part of microBatches(examples, options.microBatchTokens)) {
        const { logprobs } = await engine.forward(part, {
          name: "cross_entropy",
          ...(temperature === 1 ? {} : { temperature }),
        });
        scores.push(...logprobs);
      }
      return scores;
    },
  };
}

/** Refuses a teacher to whom the student's ids mean something else. */
function assertSameVocabulary(student: Tokenizer, teacher: Tokenizer): void {
  const refuse = (why: string): never => {
    throw new UsageError(
      `the teacher has another vocabulary than the student: ${why}. A model teacher must share the student's tokenizer; a team teacher (--teacher-team) need not`,
    );
  };
  if (student.vocabularySize !== teacher.vocabularySize)
    refuse(`${teacher.vocabularySize} tokens against ${student.vocabularySize}`);
  for (const [text, id] of student.specialTokens)
    if (teacher.specialToken(text) !== id) refuse(`${text} is token ${id} of the student and not of the teacher`);
  for (let id = 0; id < student.vocabularySize; id++) {
    if (Buffer.compare(student.tokenBytes(id), teacher.tokenBytes(id)) !== 0)
      refuse(
        `token ${id} is ${show(student.tokenBytes(id))} to the student, ${show(teacher.tokenBytes(id))} to the teacher`,
      );
  }
}

const show = (bytes: Uint8Array) => JSON.stringify(Buffer.from(bytes).toString("utf8"));
