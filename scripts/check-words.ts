/**
 * Words that make a page read as translated: persons for programs, defaults by negation, Say and Tell for output. Looked for in
 * everything but tests: flags and summaries of commands, code and its comments, recipes, examples, and the documentation.
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sourceFiles } from "./source-files.ts";

const banned = /\b(?:nobody|somebody|whoever|anybody|unless (?:said|told|asked))\b/i;
const outputVerbs = /^(?:Say|Tell)s?\b/;
const outputComment = /(?:\/\*\*|\/\/|^ \*) (?:Say|Tell)s?\b/;

/** Pages and programs beside src/; decisions are history. */
const pages = [
  "*.md",
  "docs/*.md",
  "docs/{guide,tutorials,site}/*.{md,ts}",
  "{recipes,examples,bench,integrations}/**/*.{md,ts,py}",
];

/** What is written in a banned word. `texts` are named texts beside the files: help of commands, comments of public names. */
export function checkWords(root: string, texts: readonly (readonly [where: string, text: string])[] = []): string[] {
  const found = (where: string, text: string): string[] => {
    const plain = text.replaceAll(/`[^`]*`/g, "");
    const word = (banned.exec(plain) ?? outputComment.exec(plain))?.[0];
    return word ? [`${where}: "${word}"`] : [];
  };
  const inPages = pages
    .flatMap((pattern) => globSync(pattern, { cwd: root, exclude: ["**/node_modules"] }))
    .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));
  const inFiles = [...inPages, ...sourceFiles(root)]
    .filter(({ path }) => !path.includes(".test."))
    .flatMap(({ path, text }) => text.split("\n").flatMap((line, at) => found(`${path}:${at + 1}`, line)));
  const inTexts = texts.flatMap(([where, text]) => [
    ...found(where, text),
    ...(outputVerbs.test(text)
      ? [`${where}: begins with "${text.split(" ")[0]}": begin with what it does to which object`]
      : []),
  ]);
  return [...inFiles, ...inTexts];
}
