/**
 * Words that make a page read as translated: persons for programs, defaults by negation, Say and Tell for output. Looked for where
 * users read: flags and summaries of commands, texts in the code, comments of public names, and the documentation.
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sourceFiles } from "./source-files.ts";

const banned = /\b(?:nobody|somebody|whoever|anybody|unless (?:said|told|asked))\b/i;
const outputVerbs = /^(?:Say|Tell)s?\b/;

/** Pages that users read; decisions and lab notes are history. */
const pages = ["*.md", "docs/*.md", "docs/guide/*.md", "docs/tutorials/*.md"];
const history = new Set(["docs/lab-notes.md"]);

/** What is written in a banned word. `texts` are named texts beside the files: help of commands, comments of public names. */
export function checkWords(root: string, texts: readonly (readonly [where: string, text: string])[] = []): string[] {
  const found = (where: string, text: string): string[] => {
    const word = banned.exec(text.replaceAll(/`[^`]*`/g, ""))?.[0];
    return word ? [`${where}: "${word}"`] : [];
  };
  const inPages = pages
    .flatMap((pattern) => globSync(pattern, { cwd: root }))
    .filter((page) => !history.has(page))
    .flatMap((page) =>
      readFileSync(join(root, page), "utf8")
        .split("\n")
        .flatMap((line, at) => found(`${page}:${at + 1}`, line)),
    );
  const inCode = sourceFiles(root)
    .filter(({ path }) => !path.includes(".test."))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/"(?:[^"\\\n]|\\.)*"/g)].flatMap(([literal]) => found(path, literal)),
    );
  const inTexts = texts.flatMap(([where, text]) => [
    ...found(where, text),
    ...(outputVerbs.test(text)
      ? [`${where}: begins with "${text.split(" ")[0]}": begin with what it does to which object`]
      : []),
  ]);
  return [...inPages, ...inCode, ...inTexts];
}
