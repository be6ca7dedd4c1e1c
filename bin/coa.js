#!/usr/bin/env node
// Plain JavaScript that any Node can parse, so that an old one can be told apart from a broken one.
var major = Number(process.versions.node.split(".")[0]);
if (major < 24) {
  console.error(`coa needs Node 24 or newer; this is Node ${process.versions.node}.`);
  process.exit(2);
}
// Compiled code is kept between runs, so that commands start fast.
import("node:module")
  .then((module) => module.enableCompileCache?.())
  // An installed package has dist/; a clone runs its sources.
  .then(() => import("../dist/cli/main.js"))
  .catch((error) => {
    if (error.code !== "ERR_MODULE_NOT_FOUND" || !String(error.message).includes("dist/cli/main.js")) throw error;
    return import("../src/cli/main.ts");
  })
  .then((cli) => cli.start());
