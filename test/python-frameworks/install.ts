/**
 * Makes the virtual environments of programs below `COA_PYTHON_VENVS`, with the versions that were measured:
 * `node test/python-frameworks/install.ts <app>…`.
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { clients, pythonFrameworks, pythonOf } from "./frameworks.ts";
import { readResults } from "./results.ts";

const folder = process.env["COA_PYTHON_VENVS"];
if (!folder) throw new Error("COA_PYTHON_VENVS names no folder");
const { versions } = readResults();
for (const app of process.argv.slice(2)) {
  const framework = [...pythonFrameworks, clients].find((one) => one.app === app);
  if (!framework) throw new Error(`no program ${app}`);
  if (pythonOf(framework)) continue;
  const [first = "", ...others] = framework.pip;
  const version = versions[framework.name];
  const venv = join(folder, app);
  execFileSync("python3", ["-m", "venv", venv], { stdio: "inherit" });
  const wanted = [version ? `${first}==${version}` : first, ...others];
  execFileSync(join(venv, "bin/python"), ["-m", "pip", "install", "-q", "--disable-pip-version-check", ...wanted], {
    stdio: "inherit",
  });
}
