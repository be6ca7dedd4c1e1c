/** One run inside the report: the segments of a trajectory or the steps of a team, folded until asked for. */
import type { TeamRun } from "../core/team-run.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { count } from "./format-figures.ts";
import { escapeHtml } from "./page.ts";

const longest = 4000;

/** A folded view of what a run did. */
export function runHtml(run: unknown): string {
  if (isTrajectory(run)) {
    const steps = run.segments.map((segment) => step(segment.tag, segment.text, segment.by));
    return folded(
      run.id,
      `trajectory, ${run.segments.length} segments, ${count(run.usage.billedTokens)} billed tokens`,
      steps,
    );
  }
  if (isTeamRun(run)) {
    const names = new Map(run.agents.map((agent) => [agent.id, agent.role ?? agent.name]));
    const steps = run.steps.flatMap((one) => [
      step(names.get(one.agentId) ?? one.agentId, one.text, "model"),
      ...one.toolCalls.map((call) =>
        step(call.name, `${call.arguments}\n→ ${call.result ?? call.error ?? ""}`, "tool"),
      ),
    ]);
    return folded(
      run.id,
      `team run, ${run.agents.length} agents, ${run.steps.length} steps, ${count(run.usage.billedTokens)} billed tokens`,
      steps,
    );
  }
  return "";
}

function folded(id: string, summary: string, steps: string[]): string {
  return `<details id="run-${escapeHtml(id)}"><summary>${escapeHtml(summary)}</summary>${steps.join("")}</details>`;
}

function step(name: string, body: string, by: string): string {
  const shown = body.length > longest ? `${body.slice(0, longest)}\n… ${body.length - longest} more characters` : body;
  return `<div class="step ${by === "model" ? "model" : "tool"}"><b>${escapeHtml(name)}</b><pre>${escapeHtml(shown.trim())}</pre></div>`;
}

function isTrajectory(run: unknown): run is Trajectory {
  return run !== null && typeof run === "object" && Array.isArray((run as Trajectory).segments);
}

function isTeamRun(run: unknown): run is TeamRun {
  return run !== null && typeof run === "object" && Array.isArray((run as TeamRun).steps);
}
