/** Importing the package: processor time of a fresh process that imports the built root entry, beside two peers, interleaved. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Figure } from "../scripts/bench.ts";

const root = join(import.meta.dirname, "..");
const rounds = 9;

/** Processor milliseconds that importing adds to a process. */
function cost(specifier: string | undefined): number {
  const code = `const before = process.cpuUsage();
    ${specifier === undefined ? "" : `await import(${JSON.stringify(specifier)});`}
    const { user, system } = process.cpuUsage(before);
    console.log((user + system) / 1000);`;
  const { stdout, status, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", code], {
    encoding: "utf8",
    cwd: import.meta.dirname,
  });
  if (status !== 0) throw new Error(stderr);
  return Number(stdout);
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

function peer(name: string): string | undefined {
  try {
    return pathToFileURL(createRequire(import.meta.url).resolve(name)).href;
  } catch {
    return undefined;
  }
}

export default async function bench(): Promise<Figure[]> {
  const dist = mkdtempSync(join(tmpdir(), "coa-import-"));
  try {
    const tsc = join(root, "node_modules/.bin/tsc");
    const built = spawnSync(tsc, ["-p", "tsconfig.build.json", "--outDir", dist], { cwd: root, encoding: "utf8" });
    if (built.status !== 0) throw new Error(built.stdout);
    symlinkSync(join(root, "node_modules"), join(dist, "node_modules"));
    // As in the published package: without it Node reads every file twice to find out that it is a module.
    writeFileSync(join(dist, "package.json"), JSON.stringify({ type: "module" }));
    const subjects: Record<string, string | undefined> = {
      "chain-of-agents": pathToFileURL(join(dist, "index.js")).href,
      ai: peer("ai"),
      "@langchain/langgraph": peer("@langchain/langgraph"),
    };
    const times: Record<string, number[]> = {};
    for (let round = 0; round < rounds; round++)
      for (const [name, url] of Object.entries(subjects)) if (url) times[name] = [...(times[name] ?? []), cost(url)];
    const own = median(times["chain-of-agents"]!);
    return Object.entries(times).map(([name, list]) => {
      const value = median(list);
      if (name === "chain-of-agents")
        return { name: `import ${name}`, value, unit: "ms CPU", target: "100 ms", met: value <= 100 };
      const target = name === "ai" ? "no more than ai" : undefined;
      return {
        name: `import ${name}`,
        value,
        unit: "ms CPU",
        peer: name,
        ratio: value / own,
        target,
        met: target ? own <= value : undefined,
      };
    });
  } finally {
    rmSync(dist, { recursive: true, force: true });
  }
}
