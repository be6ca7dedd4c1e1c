/**
 * The package as it would be published: packed, then read by publint and by are-the-types-wrong. It builds everything, so
 * `npm run check` does it only where `CI` is set; `node scripts/check-package.ts` does it at any time, and needs no network.
 * `--release` refuses what a release lacks: the addresses that npm links to, and a dated section of the changelog.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkPackage as checkTypes, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";

/** Problems that a package of ES modules has by design: `require` finds no CommonJS, and `node10` knows no `exports`. */
const byDesign = new Set(["CJSResolvesToESM"]);

/** What publint and are-the-types-wrong say of the packed package. */
export async function checkPackage(root: string): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), "coa-packed-"));
  try {
    const packed = spawnSync("npm", ["pack", "--pack-destination", folder, "--loglevel=error"], {
      cwd: root,
      encoding: "utf8",
    });
    if (packed.status !== 0) return [`npm pack: ${packed.stdout}${packed.stderr}`];
    const tarball = readFileSync(join(folder, readdirSync(folder)[0]!));
    const manifest = readManifest(root);
    const bytes = tarball.buffer.slice(tarball.byteOffset, tarball.byteOffset + tarball.byteLength) as ArrayBuffer;
    const { messages } = await publint({ pack: { tarball: bytes }, strict: true });
    const analysis = await checkTypes(createPackageFromTarballData(new Uint8Array(bytes)));
    const wrong = analysis.types
      ? analysis.problems.filter(
          (problem) =>
            !byDesign.has(problem.kind) &&
            !("resolutionKind" in problem && problem.resolutionKind === "node10") &&
            !("resolutionOption" in problem && problem.resolutionOption === "node10"),
        )
      : [{ kind: "the package has no types" }];
    return [
      ...messages.map((message) => `publint: ${formatMessage(message, manifest) ?? message.code}`),
      ...wrong.map((problem) => `types: ${JSON.stringify(problem)}`),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Manifest {
  version: string;
  repository?: unknown;
  homepage?: unknown;
  bugs?: unknown;
  [field: string]: unknown;
}

function readManifest(root: string): Manifest {
  return JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;
}

/** What a release lacks. `tag` is the tag that it is made from, where there is one. */
export function releaseProblems(root: string, tag?: string): string[] {
  const manifest = readManifest(root);
  const missing = ["repository", "homepage", "bugs"].filter((field) => manifest[field] === undefined);
  const changelog = readFileSync(join(root, "CHANGELOG.md"), "utf8");
  const dated = new RegExp(`^## ${manifest.version.replaceAll(".", "\\.")} \\(\\d{4}-\\d\\d-\\d\\d\\)$`, "m");
  return [
    ...missing.map((field) => `package.json has no "${field}": provenance and the page on npm need the public address`),
    ...(dated.test(changelog) ? [] : [`CHANGELOG.md has no section "## ${manifest.version} (year-month-day)"`]),
    ...(tag !== undefined && tag !== `v${manifest.version}`
      ? [`the tag is ${tag}, the version ${manifest.version}`]
      : []),
  ];
}

if (import.meta.main) {
  const root = join(import.meta.dirname, "..");
  const release = process.argv.includes("--release");
  const problems = release ? releaseProblems(root, process.env["GITHUB_REF_NAME"]) : await checkPackage(root);
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length > 0 ? 1 : 0;
}
