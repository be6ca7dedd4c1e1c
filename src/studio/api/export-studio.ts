/**
 * The studio as a folder that opens from a file, without a server: the same pages, with the answers to their questions
 * in scripts beside them. Secrets are taken out of every answer; a chain that held one is exported without its tokens,
 * because the ids contain the secret too. What was not chosen is not in the export, and the pages say so.
 */
import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { writeFolder } from "../../base/files/write-folder.ts";
import { redactSecrets } from "../../base/redact/redact.ts";
import { messageOf } from "../../core/errors.ts";
import { loadAppFiles } from "./app-files.ts";
import { stagePages } from "./export-stages.ts";
import type { FunnelView } from "./funnel-view.ts";
import { filterOf } from "./item-readers.ts";
import type { ItemView } from "./item-view.ts";
import type { OverviewView } from "./overview-reader.ts";
import { readItem } from "./read-item.ts";
import type { StudioContext } from "./reader.ts";
import { readers } from "./readers.ts";

export interface ExportOptions {
  /** The folder to write. */
  out: string;
  /** Which lists: queries of `items`, such as `kind=chain&reward=0`. */
  lists: readonly string[];
  /** Most items of each list. */
  limit: number;
  title?: string;
  onBuild?: (message: string) => void;
}

export interface ExportReport {
  runs: number;
  chains: number;
  examples: number;
  answers: number;
  /** Chains without their tokens, because they held a secret or have no tokenizer here. */
  withoutTokens: number;
}

/** What the exported page may load: the scripts and styles beside it. */
const policy = "default-src 'none'; script-src 'self' file:; style-src 'self' file:; img-src data:";

/** Writes the export. */
export async function exportStudio(context: StudioContext, options: ExportOptions): Promise<ExportReport> {
  const app = await loadAppFiles({ onBuild: options.onBuild });
  await context.index.ready();
  const report: ExportReport = { runs: 0, chains: 0, examples: 0, answers: 0, withoutTokens: 0 };
  await writeFolder(options.out, async (folder) => {
    await mkdir(join(folder, "data"));
    const answers: Record<string, string> = {};
    const write = async (path: string, value: unknown) => {
      const clean = redactSecrets(JSON.parse(JSON.stringify(value)));
      const file = `${createHash("sha256").update(path).digest("hex").slice(0, 16)}.js`;
      await writeFile(join(folder, "data", file), `coaAnswer(${JSON.stringify(path)}, ${JSON.stringify(clean)});\n`);
      answers[path] = file;
      report.answers++;
    };
    const ask = (path: string): unknown => {
      const [name = "", query = ""] = path.split("?");
      return readers[name]!(new URLSearchParams(query), context);
    };
    const copy = async (path: string) => write(path, await ask(path));
    const items = chosenItems(context, options);
    report.runs = items.filter(({ kind }) => kind === "run").length;
    report.chains = items.filter(({ kind }) => kind === "chain").length;
    report.examples = items.filter(({ kind }) => kind === "example").length;
    await write(
      "rows",
      items.map(({ offset: _offset, length: _length, ...row }) => row),
    );
    const overview = (await ask("overview")) as OverviewView;
    const counts = { run: report.runs, chain: report.chains, example: report.examples };
    await write("overview", { ...overview, root: options.title ?? basename(overview.root), counts });
    for (const item of items) {
      if (item.kind === "example") continue;
      const path = `beside?${new URLSearchParams({ [item.kind]: item.key })}`;
      try {
        await copy(path);
      } catch (error) {
        await write(path, { chains: [], places: {}, problems: [messageOf(error)] });
      }
      if (item.kind === "chain" && !(await tokensOf(item))) report.withoutTokens++;
    }
    async function tokensOf(item: ItemView): Promise<boolean> {
      if (holdsSecret(context, item)) return false;
      try {
        const view = (await ask(`tokens?${new URLSearchParams({ id: item.key })}`)) as object;
        await write(`tokens?${new URLSearchParams({ id: item.key })}`, { ...view, models: [] });
        return true;
      } catch {
        return false;
      }
    }
    for (const path of await pagesOf(ask)) await copy(path);
    for (const [path, view] of await stagePages(ask, items)) await write(path, view);
    const manifest = { answers, exportedAt: new Date().toISOString(), title: options.title ?? "" };
    await writeFile(join(folder, "data", "manifest.js"), `globalThis.coaStatic = ${JSON.stringify(manifest)};\n`);
    for (const [path, { bytes }] of app)
      await writeFile(join(folder, path), path === "/index.html" ? page(bytes) : bytes);
  });
  return report;
}

/** The page with the answers' list before the app, and the policy that a server would have sent. */
function page(bytes: Buffer): string {
  return bytes
    .toString("utf8")
    .replace(
      '<meta charset="utf-8" />',
      `<meta charset="utf-8" />\n    <meta http-equiv="content-security-policy" content="${policy}" />`,
    )
    .replace(
      '<script defer src="./app.js">',
      '<script defer src="./data/manifest.js"></script>\n    <script defer src="./app.js">',
    );
}

/** The chosen runs, chains and examples; with each chain its run and with each run its chains. */
function chosenItems({ items }: StudioContext, { lists, limit }: ExportOptions): ItemView[] {
  const chosen = new Map<number, ItemView>();
  const add = (item: ItemView | undefined) => item && chosen.set(item.id, item);
  for (const list of lists) {
    const { rows } = items.page(filterOf(new URLSearchParams(list)), { by: "order", down: false }, 0, limit);
    for (const item of rows) {
      add(item);
      if (item.kind === "run") for (const chain of items.chainsOf(item.key)) add(chain);
      if (item.runId !== "") add(items.find("run", item.runId));
    }
  }
  return [...chosen.values()].sort((a, b) => a.id - b.id);
}

/** Whether redaction would change a record. */
function holdsSecret({ root }: StudioContext, item: ItemView): boolean {
  try {
    const stored = readItem(root, item);
    const texts =
      stored.kind === "chain" ? [stored.chain.prompt, stored.chain.segments.map(({ text, raw }) => [text, raw])] : [];
    return JSON.stringify(redactSecrets(texts)) !== JSON.stringify(texts);
  } catch {
    return true;
  }
}

/** Questions of the screens that show whole stages. */
async function pagesOf(ask: (path: string) => unknown): Promise<string[]> {
  const paths = ["distillations", "datasets"];
  for (const folder of (await ask("distillations")) as string[]) {
    const funnel = (await ask(`funnel?${new URLSearchParams({ folder })}`)) as FunnelView;
    paths.push(`funnel?${new URLSearchParams({ folder })}`);
    const dropped = (stage: string, reason: string) =>
      paths.push(`dropped?${new URLSearchParams({ folder, stage, reason, offset: "0" })}`);
    dropped("", "");
    for (const { name, reasons } of funnel.stages) {
      dropped(name, "");
      for (const reason of Object.keys(reasons)) dropped(name, reason);
    }
  }
  for (const folder of (await ask("datasets")) as string[]) paths.push(`dataset?${new URLSearchParams({ folder })}`);
  return paths;
}
