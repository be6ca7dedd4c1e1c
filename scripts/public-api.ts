/**
 * Every public name with its signature, from the declarations that tsc writes: `node scripts/public-api.ts --write` keeps
 * them in docs/public-api.txt, and `npm run check` compares. A changed line there is a change for users: say it in CHANGELOG.md.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const root = join(import.meta.dirname, "..");

/** The snapshot, relative to the root. */
export const snapshotFile = "docs/public-api.txt";

/** Lists the public API as text: a block per entry point, a line per name. */
export function publicApi(): string {
  // Kept between checks: tsc then writes what has changed alone.
  const folder = join(root, "node_modules", ".cache", "coa", "declarations");
  const kept = ["--incremental", "--tsBuildInfoFile", `${folder}.tsbuildinfo`];
  const args = ["-p", "tsconfig.build.json", "--emitDeclarationOnly", "--outDir", folder, ...kept];
  const { status, stdout } = spawnSync(join(root, "node_modules/.bin/tsc"), args, { cwd: root, encoding: "utf8" });
  if (status !== 0) throw new Error(`tsc: ${stdout}`);
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    exports: Record<string, { types?: string } | string>;
  };
  const blocks = Object.entries(exports).flatMap(([entry, target]) => {
    if (typeof target === "string" || !target.types) return [];
    const file = join(folder, target.types.replace("./dist/", ""));
    return [[`## chain-of-agents${entry.slice(1)}`, ...namesOf(file)].join("\n")];
  });
  return `${blocks.join("\n\n")}\n`;
}

/** The names that an entry point exports, each with its declaration on one line, in order. */
function namesOf(entry: string): string[] {
  const lines: string[] = [];
  for (const [, list = "", from = ""] of readFileSync(entry, "utf8").matchAll(
    /export (?:type )?\{([^}]*)\} from "(.*?)"/g,
  )) {
    const text = readFileSync(join(dirname(entry), from.replace(/\.(ts|js)$/, ".d.ts")), "utf8");
    for (const item of list.split(",").map((part) => part.trim().replace(/^type /, ""))) {
      if (item === "") continue;
      const [own = item, shown = own] = item.split(" as ");
      lines.push(`${shown}: ${shortened(declarationOf(own, text))}`);
    }
  }
  return lines.toSorted();
}

/** A long declaration by its beginning and a hash of the whole: readable, and still different when anything in it changes. */
function shortened(declaration: string): string {
  if (declaration.length <= 600) return declaration;
  const hash = createHash("sha256").update(declaration).digest("hex").slice(0, 12);
  return `${declaration.slice(0, 300)} … (${declaration.length} characters, ${hash})`;
}

/** The declaration of a name in a .d.ts file, without comments, on one line. */
function declarationOf(name: string, text: string): string {
  const plain = text.replace(/\/\*[\s\S]*?\*\//g, "");
  const start = new RegExp(
    `^export (?:declare )?(?:abstract )?(?:async )?(function|const|let|class|interface|type) ${name}\\b`,
    "m",
  );
  const at = start.exec(plain);
  if (!at) return /from "/.test(plain) ? "re-exported" : "not found";
  let depth = 0;
  for (let end = at.index; end < plain.length; end++) {
    const character = plain[end]!;
    if ("{([".includes(character)) depth++;
    else if ("})]".includes(character)) depth--;
    const ends = character === ";" || (character === "}" && /interface|class/.test(at[1] ?? ""));
    if (depth === 0 && ends)
      return plain
        .slice(at.index, end + 1)
        .replace(/^export (declare )?/, "")
        .replace(/\s+/g, " ");
  }
  return "not found";
}

/** What differs between the snapshot and the code. */
export function checkPublicApi(): string[] {
  const kept = readFileSync(join(root, snapshotFile), "utf8").split("\n");
  const now = publicApi().split("\n");
  const changed = [
    ...kept.filter((line) => !now.includes(line)).map((line) => `gone: ${line}`),
    ...now.filter((line) => !kept.includes(line)).map((line) => `new: ${line}`),
    ...now.filter((line) => line.endsWith(": not found")).map((line) => `no declaration: ${line}`),
  ];
  const remedy = "the public API changed: node scripts/public-api.ts --write, and say it in CHANGELOG.md";
  return changed.length === 0 ? [] : [remedy, ...changed];
}

if (import.meta.main && process.argv.includes("--write")) writeFileSync(join(root, snapshotFile), publicApi());
