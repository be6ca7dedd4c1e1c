/** Lists source files and what they import, for the checks. Reads text, runs nothing. */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

export interface SourceFile {
  /** Path from the root, with forward slashes. */
  path: string;
  text: string;
  /** Relative imports as paths from the root; `typeOnly` ones vanish at run time. */
  imports: { path: string; typeOnly: boolean }[];
}

/** Every TypeScript file below `folder` of `root`, tests included. */
export function sourceFiles(root: string, folder = "src"): SourceFile[] {
  return globSync(`${folder}/**/*.{ts,tsx}`, { cwd: root })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => !path.includes("node_modules"))
    .sort()
    .map((path) => {
      const text = readFileSync(join(root, path), "utf8");
      return { path, text, imports: relativeImports(path, text) };
    });
}

function relativeImports(path: string, text: string): SourceFile["imports"] {
  const found: SourceFile["imports"] = [];
  const pattern =
    /(?:^|\n)\s*(?:import|export)\s+(type\s+)?(?:[^"';]*?\sfrom\s+)?"(\.[^"]+)"|import\(\s*"(\.[^"]+)"\s*\)/g;
  for (const match of text.matchAll(pattern)) {
    const target = match[2] ?? match[3] ?? "";
    found.push({
      path: relative(".", join(dirname(path), target)).replaceAll("\\", "/"),
      typeOnly: match[1] !== undefined,
    });
  }
  return found;
}
