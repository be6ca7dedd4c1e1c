/**
 * `npm run bench -- <name> [--json]`: runs one benchmark of bench/ and prints its figures: value, unit, the peer it was
 * measured against in the same run, the ratio, the target and whether it is met. bench/ is a package of its own; the
 * peers it needs are installed on first use.
 */
import { spawnSync } from "node:child_process";
import { existsSync, globSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { table } from "../src/cli/output.ts";

/** One measured number. `ratio` is ours against the peer's, above 1 when ours is better. */
export interface Figure {
  name: string;
  value: number;
  unit: string;
  peer?: string;
  ratio?: number;
  target?: string;
  met?: boolean;
}

/** What a benchmark may be told; most need nothing. */
export interface BenchOptions {
  minutes?: number;
  store?: string;
}

const folder = join(import.meta.dirname, "..", "bench");
const names = globSync("*.ts", { cwd: folder })
  .map((file) => basename(file, ".ts"))
  .sort();
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: "boolean", default: false }, minutes: { type: "string" }, store: { type: "string" } },
});
const name = positionals[0] ?? "";
if (!names.includes(name)) {
  console.error(`npm run bench -- <name> [--json], where <name> is one of: ${names.join(", ")}`);
  process.exit(2);
}
installPeers();
const { default: bench } = (await import(join(folder, `${name}.ts`))) as {
  default(options: BenchOptions): Promise<Figure[]>;
};
const { minutes, store } = values;
const figures = await bench({ ...(minutes && { minutes: Number(minutes) }), ...(store && { store }) });
const machine = `${cpus().length} x ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GB, Node ${process.versions.node}`;
if (values.json) console.log(JSON.stringify({ name, machine, figures }));
else {
  console.log(`${name} on ${machine}`);
  const rows = figures.map((figure) => [
    figure.name,
    `${figure.value.toPrecision(4)} ${figure.unit}`,
    figure.peer ?? "",
    figure.ratio === undefined ? "" : `${figure.ratio.toFixed(2)}x`,
    figure.target ?? "",
    figure.met === undefined ? "" : figure.met ? "met" : "not met",
  ]);
  console.log(table([["figure", "value", "peer", "ratio", "target", ""], ...rows]));
}
process.exit(0);

function installPeers(): void {
  if (!existsSync(join(folder, "package.json")) || existsSync(join(folder, "node_modules"))) return;
  console.error("installing the peers of bench/ (first use)…");
  const { status } = spawnSync("npm", ["install", "--no-audit", "--no-fund"], { cwd: folder, stdio: ["ignore", 2, 2] });
  if (status !== 0) console.error("some peers could not be installed; figures without them follow");
}
