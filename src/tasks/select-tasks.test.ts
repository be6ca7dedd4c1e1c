import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Grader } from "../core/grader.ts";
import type { Task } from "../core/task.ts";
import { type AnswerTask, selectTasks } from "./select-tasks.ts";

const task: Task = { version: 1, id: "t", question: "How deep is Lake Orm?", kind: "qa", answers: ["93 metres"] };
const grade: Grader = (graded, answer) => ({ correct: answer === graded.answers[0], score: 0, reason: "" });

describe("selectTasks, for a team", () => {
  /** A team that is right at its second try; one right answer is enough. */
  const team = (answer: string, samples: number) => {
    const tries: number[] = [];
    const solve: AnswerTask = async (_, sample) => {
      tries.push(sample);
      return sample === 1 ? answer : "?";
    };
    return { tries, withTools: { answer: solve, samples, minPassRate: 0.01, maxPassRate: 1 } };
  };
  const memory = (answer: AnswerTask) => ({ answer, samples: 4, maxPassRate: 0.3 });

  it("keeps what the team solves and a model alone does not, and tries no longer than it must", async () => {
    const { tries, withTools } = team("93 metres", 4);
    const [one] = await selectTasks([task], { grade, withTools, withoutTools: memory(async () => "50 metres") });
    assert.deepEqual([one!.kept, one!.passRates, tries], [true, { withoutTools: 0, withTools: 0.5 }, [0, 1]]);
  });

  it("counts a try that could not be graded as not right, and keeps it in the denominator", async () => {
    const undecidedElse: Grader = (graded, answer) =>
      answer === graded.answers[0]
        ? { correct: true, score: 1, reason: "" }
        : { correct: null, score: 0, reason: "no judge" };
    const withoutTools = memory(async (_, sample) => (sample === 0 ? "93 metres" : "about ninety"));
    const [one] = await selectTasks([task], { grade: undecidedElse, withoutTools });
    assert.deepEqual([one!.kept, one!.passRates.withoutTools], [true, 0.25]);
  });

  it("drops what needs no tools, before asking the team, and what the team can't do", async () => {
    const [known] = await selectTasks([task], {
      grade,
      withTools: { answer: () => assert.fail(), samples: 1, minPassRate: 0.01, maxPassRate: 1 },
      withoutTools: memory(async (_, sample) => (sample < 2 ? "93 metres" : "1")),
    });
    assert.match(known!.reason, /without tools in 50 %/);
    const [hard] = await selectTasks([task], { grade, withTools: team("12", 3).withTools });
    assert.match(hard!.reason, /solved in only 0 % of the tries/);
    const [empty] = await selectTasks([{ ...task, answers: [] }], { grade });
    assert.match(empty!.reason, /no answer to check against/);
  });
});
