/** Starts the studio over files and folders. */
import { randomBytes } from "node:crypto";
import { statSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import type { Route } from "../../base/http/guard.ts";
import { listen } from "../../base/http/listen.ts";
import { UsageError } from "../../core/errors.ts";
import { fingerprint } from "../../core/fingerprint.ts";
import { annotationRoutes, annotationStore } from "./annotation-routes.ts";
import { loadAppFiles } from "./app-files.ts";
import { openCatalog } from "./open-catalog.ts";
import { itemQueries } from "./query-items.ts";
import type { StudioContext } from "./reader.ts";
import { studioHandler } from "./studio-handler.ts";
import { viewRoutes } from "./views-routes.ts";

export interface StudioOptions {
  paths: readonly string[];
  /** The workspace: what people write is kept there, and the index in its `cache/`. */
  home: string;
  port?: number;
  /** Scores tokens under a model; without it nothing can be compared with another model. */
  score?: StudioContext["score"];
  /** Profiles that edits of chains are checked against, by name; the built-in ones by default. */
  profiles?: StudioContext["profiles"];
  /** Told when the app must be built first. */
  onBuild?: (message: string) => void;
  /** Routes of other parts, behind the same checks. */
  more?: (context: StudioContext) => Readonly<Record<string, Route>>;
}

export interface Studio {
  url: string;
  origin: string;
  token: string;
  context: StudioContext;
  close(): Promise<void>;
}

/** Opens the context of readers over files and folders: the index and its queries. */
export async function openStudioContext(
  options: Pick<StudioOptions, "paths" | "home" | "score" | "profiles">,
): Promise<StudioContext & { close(): Promise<void> }> {
  const paths = options.paths.map((path) => resolve(path));
  const home = resolve(options.home);
  const { score, profiles } = options;
  for (const path of paths) {
    if (!statSync(path, { throwIfNoEntry: false })) throw new UsageError(`${path} does not exist`);
  }
  const root = commonFolder(paths);
  const name = fingerprint(JSON.stringify(paths));
  const catalog = await openCatalog(join(home, "cache", `studio-${name}.db`), paths);
  const annotations = annotationStore(join(home, "annotations.jsonl"));
  const items = itemQueries(catalog, root);
  return { root, paths, home, catalog, items, annotations, profiles, score, close: () => catalog.close() };
}

export async function serveStudio(options: StudioOptions): Promise<Studio> {
  const app = await loadAppFiles(options.onBuild);
  const context = await openStudioContext(options);
  const token = randomBytes(24).toString("base64url");
  const more = { ...viewRoutes(context.home), ...annotationRoutes(context), ...options.more?.(context) };
  const handler = studioHandler(context, { token, app, more });
  try {
    const server = await listen(handler, { port: options.port ?? 0 });
    return {
      url: `${server.origin}/#/?token=${token}`,
      origin: server.origin,
      token,
      context,
      async close() {
        await server.close();
        await context.close();
      },
    };
  } catch (error) {
    await context.close();
    throw error;
  }
}

/** The deepest folder that holds all paths; a file counts as its folder. */
function commonFolder(paths: readonly string[]): string {
  const folders = paths.map((path) => (statSync(path).isDirectory() ? path : dirname(path)));
  let common = folders[0]!;
  while (
    !folders.every((folder) => folder === common || folder.startsWith(common.endsWith(sep) ? common : common + sep))
  )
    common = dirname(common);
  return common;
}
