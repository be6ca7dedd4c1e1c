/**
 * A module that a person wrote: tools, a profile, a configuration. In a folder that `npm init` made, files count as
 * CommonJS whatever they contain; one with import and export is loaded as an ES module.
 */
import { readFileSync } from "node:fs";
import * as nodeModule from "node:module";
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { messageOf, UsageError } from "../../core/errors.ts";

let registered = false;

/** Everything that a module exports, or an error that names the file and the line. */
export async function loadModule(file: string | URL): Promise<Record<string, unknown>> {
  // Bun has no such hooks, and loads every file as it is written.
  if (!registered) nodeModule.registerHooks?.({ load: loadAsWritten });
  registered = true;
  const url = typeof file === "string" ? pathToFileURL(resolve(file)) : file;
  const path = typeof file === "string" ? file : fileURLToPath(file);
  try {
    return await import(url.href, url.pathname.endsWith(".json") ? { with: { type: "json" } } : undefined);
  } catch (error) {
    const line = error instanceof SyntaxError ? /^file:\S+?:(\d+)\n/.exec(error.stack ?? "")?.[1] : undefined;
    const where = line === undefined ? "" : `line ${line}: `;
    throw new UsageError(`${path} can't be loaded: ${where}${messageOf(error)}`, { cause: error });
  }
}

const asModule: Record<string, string> = { commonjs: "module", "commonjs-typescript": "module-typescript" };

function loadAsWritten(
  ...[url, context, next]: Parameters<NonNullable<Parameters<typeof nodeModule.registerHooks>[0]["load"]>>
) {
  const format = asModule[context.format ?? ""];
  if (format === undefined || !url.startsWith("file:") || url.includes("/node_modules/")) return next(url, context);
  const path = fileURLToPath(url);
  const written = !/\.c[jt]s$/.test(path) && /^\s*(?:export|import)\b(?!\s*\()/m.test(readFileSync(path, "utf8"));
  return next(url, written ? { ...context, format } : context);
}
