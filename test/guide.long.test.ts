/**
 * The guide does what it says. In docs/guide/*.md
 *
 * - a `ts run` or `sh run` fence is executed, in the order of its page, in one folder per page; where a `text` fence
 *   follows, that is what it prints (`…` stands for anything);
 * - every `ts` fence is type-checked, and every `coa` command line is read by the real command line parser;
 * - `<!-- given: … -->` right above a fence is code that the snippet needs and the reader does not;
 * - a fence that opens with `// name.ts` is kept under that name, for the snippets after it.
 *
 * A snippet is written to a file as its page with all the rest blanked, so the lines of errors are the lines of the page.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { main } from "../src/cli/main.ts";
import { createOutput } from "../src/cli/output.ts";
import { installPackage } from "./fixtures/installed-package.ts";
import { whole } from "./fixtures/test-size.ts";

const root = join(import.meta.dirname, "..");
const guide = join(root, "docs", "guide");
const folder = mkdtempSync(join(tmpdir(), "coa-guide-"));

interface Snippet {
  page: string;
  /** Of its fence in the page, counted from 1. */
  line: number;
  language: string;
  run: boolean;
  given: boolean;
  file: string;
  source: string;
  /** What it must print, where the page says so. */
  printed?: string;
}

const blank = (text: string) => text.replace(/.+/g, "");
const linesOf = (text: string) => text.split("\n").length;
const fence =
  /(?:^<!-- given:(?:(?!-->)[\s\S])*-->\n+)?^```(?<language>ts|sh)(?<run> run)?\n(?<code>[\s\S]*?)^```$(?:\n+```text\n(?<printed>[\s\S]*?)^```$)?/gm;

function snippetsOf(page: string): Snippet[] {
  const text = readFileSync(join(guide, page), "utf8");
  return [...text.matchAll(fence)].map((match) => {
    const { language = "", run, code = "", printed } = match.groups!;
    const [given = ""] = match[0].split(/^```/m);
    const before = text.slice(0, match.index);
    const line = linesOf(before + given);
    const name = /^\/\/ (\S+\.ts)\n/.exec(code)?.[1] ?? `${line}.${language}`;
    const source = `${blank(before)}${given.replace(/<!-- given:|-->/g, "")}\n${code}`;
    return { page, line, language, run: run !== undefined, given: given !== "", file: name, source, printed };
  });
}

const pages = globSync("*.md", { cwd: guide }).sort();
const snippets = pages.flatMap(snippetsOf);

/** Writes a snippet into its page's folder below `folder`. */
function write(kind: "types" | "run", { page, file, source }: Snippet): string {
  const path = join(folder, kind, page, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, source);
  return path;
}

/** A message of a tool with the places in our files turned into places of the page. */
function inPage(message: string): string {
  return message
    .replace(/\.ts\((\d+),(\d+)\)/g, ".ts:$1:$2")
    .replace(/[\w:/.-]*\b(?:types|run)\/(\w+\.md)\/[\w.-]+\.(?:ts|sh)(?::|: line )(\d+)/g, "docs/guide/$1:$2");
}

/** What a reader has who has set nothing up; the cache only saves time. */
const withoutKeys = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/OPENAI|_API_|^COA_(?!CACHE)/.test(name)),
);

/** Runs a snippet as a reader would, without network or keys, and compares what it prints. */
function runSnippet(snippet: Snippet): void {
  const path = write("run", snippet);
  const onError = `trap 'echo "${path}:$LINENO: failed: $BASH_COMMAND" >&2' ERR`;
  if (snippet.language === "sh") writeFileSync(path, `${onError}${snippet.source}`);
  const [command, ...args] =
    snippet.language === "ts" ? [process.execPath, path] : ["bash", "-euE", "-o", "pipefail", path];
  const { status, stdout, stderr } = spawnSync(command!, args, {
    cwd: dirname(path),
    encoding: "utf8",
    env: {
      ...withoutKeys,
      PATH: [join(folder, "node_modules", ".bin"), dirname(process.execPath), process.env["PATH"]].join(delimiter),
      REPOSITORY: root,
    },
  });
  const place = `docs/guide/${snippet.page}:${snippet.line}`;
  assert.equal(status, 0, inPage(`${place} failed:\n${stderr}`));
  if (snippet.printed !== undefined && !pattern(snippet.printed).test(stdout))
    assert.equal(stdout.trimEnd(), snippet.printed.trimEnd(), `${place} prints something else`);
}

/** Matches what a page shows of an output: `…` stands for anything. */
function pattern(printed: string): RegExp {
  const literal = printed.trim().replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`^${literal.replaceAll("…", "[\\s\\S]*?")}\\s*$`);
}

/** Lines that end in a backslash and the next in one line, followed by empty ones: the others keep their numbers. */
function joinContinued(text: string): string {
  return text.replace(/(?:.*\\\n)+.*/g, (lines) => lines.replaceAll("\\\n", " ") + blank(lines));
}

/** The arguments of every `coa` command in a line of shell. */
function coaCalls(line: string): string[][] {
  const words = line.match(/"[^"]*"|'[^']*'|[^\s"']+/g) ?? [];
  const comment = words.findIndex((word) => word.startsWith("#"));
  const calls: string[][] = [[]];
  for (const word of comment === -1 ? words : words.slice(0, comment)) {
    if (/^(\||&&|;)$/.test(word)) calls.push([]);
    else calls.at(-1)!.push(word);
  }
  return calls
    .map((call) => call.slice(call.findIndex((word) => !/^\w+=/.test(word))))
    .filter(([name]) => name === "coa")
    .map(([, ...args]) => args);
}

/** With --help the real parser reads every flag and nothing is run. */
async function complaintAbout(args: string[]): Promise<string | null> {
  const rest = args.indexOf("--");
  const asked = args.toSpliced(rest === -1 ? args.length : rest, 0, "--help");
  const nowhere = { write: () => true };
  try {
    await main(asked, createOutput({ stdout: nowhere, stderr: nowhere }), new AbortController().signal);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

describe("the guide", () => {
  before(() => installPackage(folder));
  after(() => rmSync(folder, { recursive: true, force: true }));

  it("has no fence that goes unchecked", () => {
    const kinds = /^```(?:(?:ts|sh)(?: run)?|text|mermaid)?$/;
    for (const page of pages) {
      const text = readFileSync(join(guide, page), "utf8");
      for (const [index, line] of text.split("\n").entries())
        assert.ok(!/^\s*(```|~~~)/.test(line) || kinds.test(line), `docs/guide/${page}:${index + 1}: ${line}`);
      const given = snippetsOf(page).filter((snippet) => snippet.given).length;
      assert.equal(given, text.split("<!-- given:").length - 1, `docs/guide/${page}: a given stands above no fence`);
    }
    for (const { page, line, run, printed } of snippets)
      assert.ok(run || printed === undefined, `docs/guide/${page}:${line} shows an output and does not run`);
  });

  it("type-checks", () => {
    const written = snippets.filter(({ language }) => language === "ts").map((snippet) => write("types", snippet));
    assert.equal(new Set(written).size, written.length, "two snippets of one page have the same name");
    const config = { extends: join(root, "tsconfig.json"), include: ["types"] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const tsc = join(root, "node_modules", ".bin", "tsc");
    const { status, stdout } = spawnSync(tsc, ["-p", "tsconfig.json"], { cwd: folder, encoding: "utf8" });
    assert.equal(status, 0, inPage(stdout));
  });

  it("names commands and flags that exist", async () => {
    const complaints: string[] = [];
    for (const page of pages) {
      const text = readFileSync(join(guide, page), "utf8");
      for (const [index, line] of joinContinued(text).split("\n").entries()) {
        const prose = [...line.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);
        for (const call of [line, ...prose].flatMap(coaCalls)) {
          const complaint = await complaintAbout(call);
          if (complaint) complaints.push(`docs/guide/${page}:${index + 1}: coa ${call.join(" ")}: ${complaint}`);
        }
      }
    }
    assert.deepEqual(complaints, []);
  });

  // The short tier runs two pages, the long tier all of them.
  const executed = whole ? pages : ["chain.md", "serve.md"];
  for (const page of executed) {
    it(`${page} runs`, () => {
      const own = snippets.filter((snippet) => snippet.page === page);
      assert.ok(
        own.some(({ run }) => run),
        `docs/guide/${page} has no snippet that runs`,
      );
      for (const snippet of own) {
        if (snippet.run) runSnippet(snippet);
        else write("run", snippet);
      }
    });
  }
});
