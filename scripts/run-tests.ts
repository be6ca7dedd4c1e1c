/** `npm test`: every test file of src/, test/ and examples/ with Node's own runner. Arguments narrow it: `npm test -- chain`. */
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";

const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const flags = process.argv.slice(2).filter((argument) => argument.startsWith("--"));
const files = ["src/**/*.test.ts", "test/**/*.test.ts", "scripts/**/*.test.ts"]
  .flatMap((pattern) => globSync(pattern))
  .filter((path) => !path.includes("node_modules"))
  .filter((path) => wanted.length === 0 || wanted.some((word) => path.includes(word)))
  .sort();
if (files.length === 0) {
  console.error(`no test file matches ${wanted.join(", ")}`);
  process.exit(2);
}
const { status } = spawnSync(process.execPath, ["--test", "--test-concurrency=2", ...flags, ...files], {
  stdio: "inherit",
});
process.exit(status ?? 1);
