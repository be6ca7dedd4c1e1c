/** `team run --best-of`: each task run several times, the run kept that a judge prefers, with the cost of all. */

import type { TeamRun } from "../../core/team-run.ts";
import { priceOf } from "../../core/usage.ts";
import { bestOf } from "../../evaluate/best-of.ts";
import { defineSystem } from "../../evaluate/define-system.ts";
import { byJudge, type JudgeChoiceOptions } from "../../evaluate/judge-choice.ts";
import { asChatModel, type RolePlayer } from "../../team/role.ts";
import { runTeam } from "../../team/run-team.ts";
import type { TeamsOptions } from "../../team/run-teams.ts";

/** How `runTeams` runs one task: the player of `judge` (or of everything) chooses among `n` runs. */
export function bestTeamRun(
  n: number,
  roles: Readonly<Record<string, RolePlayer>>,
  way: JudgeChoiceOptions["way"],
): NonNullable<TeamsOptions["run"]> {
  const judge = asChatModel(roles["judge"] ?? roles["default"]!);
  return async (task, options) => {
    const team = defineSystem({
      name: "team",
      run: (one, { seed, signal }) => runTeam(one, { ...options, seed, signal }),
    });
    const system = bestOf(team, n, byJudge(judge, { way, price: priceOf(options.prices, judge.name) }));
    const { run, usage, chosen } = await system.run(task, {
      sample: 0,
      seed: options.seed ?? 0,
      signal: options.signal,
    });
    const { index, reason, candidates } = chosen!;
    const answers = candidates.map(({ answer }) => answer);
    return { ...(run!.value as TeamRun), usage, bestOf: { index: index ?? 0, answers, judgements: [reason] } };
  };
}
