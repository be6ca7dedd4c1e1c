/**
 * Python programs recorded live: framework x pattern x load x way, each cell right, refused or false. What was measured stands
 * in test/python-frameworks/results.json, and a cell is run again only where it is missing there or `COA_CELLS` (a pattern of
 * names) asks for it. `COA_PYTHON_VENVS` is a folder with one virtual environment for each program of
 * test/python-frameworks/apps; a framework without one is skipped by name.
 */
import { execFileSync } from "node:child_process";
import { cp, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Figure } from "../scripts/bench.ts";
import { allCells, type Cell, cellName, pythonFrameworks, pythonOf } from "../test/python-frameworks/frameworks.ts";
import { readResults, writeResults } from "../test/python-frameworks/results.ts";
import { runCell } from "../test/python-frameworks/run-cell.ts";

/** Cells under way at a time. */
const atOnce = 3;
const wire = join(import.meta.dirname, "../test/python-frameworks/wire");

export default async function bench(): Promise<Figure[]> {
  const again = process.env["COA_CELLS"] === undefined ? undefined : new RegExp(process.env["COA_CELLS"]);
  const results = readResults();
  for (const framework of pythonFrameworks) {
    const python = pythonOf(framework);
    if (python === undefined) {
      console.log(`skipped ${framework.name}: no virtual environment (pip install ${framework.pip.join(" ")})`);
      continue;
    }
    const module = framework.pip[0]!.replace(/\[.*/, "");
    const version = `from importlib.metadata import version; print(version("${module}"))`;
    results.versions[framework.name] = execFileSync(python, ["-c", version], { encoding: "utf8" }).trim();
  }
  const wanted = allCells().filter((cell) => {
    if (pythonOf(cell.framework) === undefined) return false;
    return again ? again.test(cellName(cell)) : results.cells[cellName(cell)] === undefined;
  });
  // Cells share nothing but the machine; most of a cell's time is a program that starts.
  const queue = wanted.values();
  const runSome = async () => {
    for (const cell of queue) await measure(cell);
  };
  const measure = async (cell: Cell) => {
    const name = cellName(cell);
    const folder = await mkdtemp(join(tmpdir(), "coa-python-cell-"));
    try {
      const { verdict, why, truth } = await runCell(cell, folder);
      console.log(`${verdict.padEnd(8)} ${name}${why.length > 0 ? `: ${why.join("; ").slice(0, 1200)}` : ""}`);
      results.cells[name] = verdict;
      writeResults({ versions: results.versions, cells: { ...readResults().cells, [name]: verdict } });
      if (cell.load === "one" && cell.way === "record run" && verdict !== "failed") {
        const [log] = (await readdir(folder)).filter((file) => file.startsWith("calls-"));
        const kept = join(wire, `${cell.framework.app}-${cell.mode}`);
        await cp(join(folder, log!), `${kept}.calls.jsonl`);
        await writeFile(`${kept}.truth.jsonl`, truth.map((call) => `${JSON.stringify(call)}\n`).join(""));
      }
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, runSome));
  const cells = Object.entries(results.cells).filter(([, verdict]) => verdict !== "no spans");
  const count = (way: RegExp, verdict: string) =>
    cells.filter(([name, one]) => way.test(name) && one === verdict).length;
  const all = cells.filter(([name]) => name.endsWith("/record run")).length;
  const right = count(/\/record run$/, "right") / all;
  const wrong = count(/./, "false");
  return [
    {
      name: "frameworks",
      value: Object.keys(results.versions).length,
      unit: "",
      target: ">= 14",
      met: Object.keys(results.versions).length >= 14,
    },
    { name: "cells", value: cells.length, unit: "" },
    { name: "right by record run", value: 100 * right, unit: "%", target: ">= 95 %", met: right >= 0.95 },
    { name: "right by proxy", value: count(/\/proxy$/, "right"), unit: "cells" },
    { name: "right by OTLP", value: count(/\/OTLP$/, "right"), unit: "cells" },
    { name: "refused", value: count(/./, "refused"), unit: "cells" },
    { name: "failed programs", value: count(/./, "failed"), unit: "cells" },
    { name: "false", value: wrong, unit: "cells", target: "0", met: wrong === 0 },
  ];
}
