import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { allCells, cellName, pythonOf } from "./frameworks.ts";
import { runCell } from "./run-cell.ts";

/** Those that `.ci/run` installs. */
const installed = ["plain", "langgraph_app", "openai_agents", "smolagents_app"];

/** One cell for each pattern of frameworks, live; all of them: `npm run bench -- record-python`. */
describe("Python programs recorded live", () => {
  const cells = allCells().filter(({ framework, load, way }) => {
    return installed.includes(framework.app) && load === "four" && way === "record run";
  });
  for (const cell of cells) {
    const skip = pythonOf(cell.framework) ? false : `${cell.framework.name} is not installed below COA_PYTHON_VENVS`;
    it(cellName(cell), { skip }, async () => {
      const { verdict, why } = await runCell(cell);
      assert.equal(verdict, "right", why.join("; "));
    });
  }
});
