import { officialCodeSuite } from "../../../test/fixtures/official-code-suite.ts";
import { bubblewrapProblem, bubblewrapSandbox } from "../../tools/sandbox/bubblewrap.ts";
import { nsjailSandbox } from "../../tools/sandbox/nsjail.ts";
import { pyodideSandbox } from "../../tools/sandbox/pyodide-launch.ts";

// Pyodide starts a Python of its own for each run, so it takes a few here; all of them are in official-code.long.test.ts.
officialCodeSuite("pyodide", () => pyodideSandbox({ warm: 1 }), { few: true });
if (bubblewrapProblem() === undefined) officialCodeSuite("bubblewrap", () => bubblewrapSandbox({ warm: 2 }));
const nsjail = process.env["COA_NSJAIL"];
if (nsjail) officialCodeSuite("nsjail", () => nsjailSandbox({ path: nsjail }));
