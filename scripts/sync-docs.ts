/**
 * Docs in step with the code. A block between `<!-- generated: name -->` and `<!-- end -->` in README.md or docs/ is
 * produced by a function here; `--write` renews the blocks, `npm run check` refuses stale ones. Links to files of the
 * repository must lead somewhere.
 */
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { described } from "../src/cli/command-help.ts";
import { stages } from "../src/cli/commands/index.ts";
import type { Setting } from "../src/cli/setting.ts";
import { sections } from "../src/cli/settings/index.ts";
import { judges, promptHash } from "../src/graders/judges/judges.ts";
import { type Scorer, scorers } from "../src/graders/scorers.ts";
import { builtInProfiles } from "../src/language/profiles.ts";
import { benchmarks } from "../src/tasks/benchmarks/benchmarks.ts";
import { folderJobs, importTable } from "./import-table.ts";

const judgeDiffers = "a reply without a verdict is asked for again, then undecided; the authors count it as wrong";

const generators: Record<string, (root: string) => string> = {
  commands: () =>
    Object.entries(stages)
      .map(([title, rows]) =>
        markdownTable(
          [`**${title}**`, ""],
          Object.entries(rows).map(([name, text]) => [`\`coa ${name}\``, text]),
        ),
      )
      .join("\n\n"),
  profiles: () =>
    markdownTable(
      ["profile", "what it is for", "tags"],
      Object.values(builtInProfiles).map((profile) => [
        `\`${profile.name}\``,
        profile.purpose,
        profile.tags.map((tag) => `\`${tag.name}\``).join(" "),
      ]),
    ),
  tree: () =>
    [
      "```",
      "src/",
      ...Object.keys(importTable).map(
        (row) => `  ${`${row}${row.endsWith(".ts") ? "" : "/"}`.padEnd(14)}${folderJobs[row]}`,
      ),
      "```",
    ].join("\n"),
  "import table": () =>
    markdownTable(
      ["folder", "may import"],
      Object.entries(importTable).map(([from, to]) => [`\`${from}\``, to.join(", ") || "nothing of ours"]),
    ),
  benchmarks: () =>
    markdownTable(
      ["benchmark", "published as", "scorer", "judge prompt", "figure", "what is different from the authors'"],
      benchmarks.map(({ title, shape, scorer, judge, metric, differs }) => {
        const rule: Scorer | undefined = scorer && scorers[scorer];
        const noted = differs ?? rule?.differs ?? (judge ? judgeDiffers : "nothing known");
        return [title, shape, scorer ? `\`${scorer}\`` : "", judge ? `\`${judge}\`` : "", metric, noted];
      }),
    ),
  scorers: () =>
    markdownTable(
      ["scorer", "`official`", "`strict` instead"],
      Object.entries(scorers).map(([name, { rule, ...rest }]) => [
        `\`${name}\``,
        rule,
        "strict" in rest ? rest.strict : "the same",
      ]),
    ),
  judges: () =>
    markdownTable(
      ["judge", "whose words", "hash of the prompt"],
      Object.values(judges).map((prompt) => [`\`${prompt.name}\``, prompt.source, `\`${promptHash(prompt)}\``]),
    ),
  settings: () =>
    Object.entries(sections)
      .map(([name, { describe, settings }]) => {
        const rows = Object.entries(settings as Record<string, Setting>).map(([key, setting]) => [
          `\`${name}.${key}\``,
          described(setting).replaceAll("|", "\\|"),
          setting.flag === undefined ? "" : `\`--${setting.flag}\``,
        ]);
        return `## ${name}\n\n${describe}.\n\n${markdownTable(["setting", "what it sets", "flag"], rows)}`;
      })
      .join("\n\n"),
  dependencies: dependencyList,
};

/** Each runtime dependency must have its sentence in docs/dependencies.md; this block lists what package.json says. */
function dependencyList(root: string): string {
  const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  return markdownTable(
    ["package", "version"],
    Object.entries(dependencies).map(([name, version]) => [`\`${name}\``, version]),
  );
}

function markdownTable(head: string[], rows: string[][]): string {
  return [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
}

const block = /<!-- generated: (.+?) -->\n([\s\S]*?)<!-- end -->/g;

function docFiles(root: string): string[] {
  return ["*.md", "docs/**/*.md", "recipes/*.md"].flatMap((pattern) => globSync(pattern, { cwd: root })).sort();
}

/** Complaints about stale blocks, dead links and dependencies without their sentence. */
export function checkDocs(root: string): string[] {
  const complaints: string[] = [];
  for (const path of docFiles(root)) {
    const text = readFileSync(join(root, path), "utf8");
    for (const [, name = "", body] of text.matchAll(block)) {
      const fresh = generators[name]?.(root);
      if (fresh === undefined) complaints.push(`${path}: no generator for the block "${name}"`);
      else if (`${fresh}\n` !== body)
        complaints.push(`${path}: the block "${name}" is stale: node scripts/sync-docs.ts --write`);
    }
    for (const [, target = ""] of text
      .replace(/```[\s\S]*?```/g, "")
      .matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)[^)]*\)/g)) {
      if (!existsSync(join(root, dirname(path), target)))
        complaints.push(`${path}: the link to ${target} leads nowhere`);
    }
  }
  return [...complaints, ...undocumentedDependencies(root)];
}

function undocumentedDependencies(root: string): string[] {
  const file = join(root, "docs/dependencies.md");
  const text = existsSync(file) ? readFileSync(file, "utf8").replace(block, "") : "";
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
    peerDependencies?: Record<string, string>;
  };
  return Object.keys({ ...dependencies, ...peerDependencies })
    .filter((name) => !text.includes(`\`${name}\``))
    .map((name) => `docs/dependencies.md: no sentence on \`${name}\``);
}

function writeDocs(root: string): void {
  for (const path of docFiles(root)) {
    const text = readFileSync(join(root, path), "utf8");
    const fresh = text.replace(block, (whole, name: string) => {
      const made = generators[name]?.(root);
      return made === undefined ? whole : `<!-- generated: ${name} -->\n${made}\n<!-- end -->`;
    });
    if (fresh !== text) writeFileSync(join(root, path), fresh);
  }
}

if (import.meta.main && process.argv.includes("--write")) writeDocs(".");
