import { officialCodeSuite } from "../../../test/fixtures/official-code-suite.ts";
import { pyodideSandbox } from "../../tools/sandbox/pyodide-launch.ts";

officialCodeSuite("pyodide", () => pyodideSandbox({ warm: 1 }));
