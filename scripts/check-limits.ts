/**
 * Counts what the house has limits for, and keeps the limits a ratchet: in the commit that raises one, and in a working tree that
 * does, nothing else changes but a new decision.
 */
import { spawnSync } from "node:child_process";
import { linesOf } from "./check-size.ts";
import { type LimitName, limits } from "./limits.ts";

const limitsFile = "scripts/limits.ts";

/** The limits with what was counted, as lines to print; and complaints about those that are passed. */
export function checkLimits(root: string, counts: Readonly<Partial<Record<LimitName, number>>>) {
  const measured: Partial<Record<LimitName, number>> = { ...counts };
  for (const folder of ["src", "bench", "integrations", "recipes", "python"] as const)
    measured[`lines of ${folder}`] = linesOf(root, folder);
  const rows = Object.entries(limits).flatMap(([name, limit]) => {
    const count = measured[name as LimitName];
    return count === undefined ? [] : [{ name, count, limit }];
  });
  return {
    table: rows.map(({ name, count, limit }) => `${name.padEnd(24)} ${String(count).padStart(6)} of ${limit}`),
    complaints: rows
      .filter(({ count, limit }) => count > limit)
      .map(({ name, count, limit }) => `${name}: ${count}, the limit is ${limit}: remove what has no user`),
  };
}

/** Complaints about limits that were raised together with something else: in the last commit, or in what is not yet committed. */
export function checkRatchet(root: string): string[] {
  return [
    ...raisedWithOthers(root, ["HEAD^", "HEAD"]),
    ...raisedWithOthers(root, ["HEAD"]), // the working tree
  ];
}

function raisedWithOthers(root: string, range: readonly string[]): string[] {
  const git = (...args: string[]) => spawnSync("git", args, { cwd: root, encoding: "utf8" });
  const difference = git("diff", "-U0", ...range, "--", limitsFile);
  if (difference.status !== 0) return []; // not a repository, or the first commit of a shallow one
  const read = (sign: string) =>
    new Map(
      [...difference.stdout.matchAll(new RegExp(`^\\${sign} +"?([\\w ]+)"?: (\\d+),`, "gm"))].map(
        ([, name = "", value]) => [name, Number(value)],
      ),
    );
  const before = read("-");
  const raised = [...read("+")].filter(([name, value]) => value > (before.get(name) ?? Infinity)).map(([name]) => name);
  if (raised.length === 0) return [];
  const changed = [
    ...git("diff", "--name-only", ...range).stdout.split("\n"),
    ...(range.length === 1 ? git("ls-files", "--others", "--exclude-standard").stdout.split("\n") : []),
  ].filter(Boolean);
  const others = changed.filter((path) => path !== limitsFile && !path.startsWith("docs/decisions/"));
  if (others.length > 0)
    return [`${raised.join(", ")} raised together with ${others[0]}: raise a limit in a commit of its own`];
  if (changed.length === 1) return [`${raised.join(", ")} raised without a decision in docs/decisions/`];
  return [];
}
