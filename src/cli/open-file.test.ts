import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { until } from "../../test/fixtures/until.ts";
import { openFile } from "./open-file.ts";

describe("openFile", () => {
  it("starts the browser with the file, and says where the file is when there is none", async () => {
    const folder = await mkdtemp(join(tmpdir(), "coa-open-"));
    const before = process.env["BROWSER"];
    try {
      const browser = join(folder, "browser");
      await writeFile(browser, `#!/bin/sh\ncp "$1" "${folder}/shown"\n`);
      await chmod(browser, 0o755);
      await writeFile(join(folder, "report.html"), "<p>");
      process.env["BROWSER"] = browser;
      await openFile(join(folder, "report.html"), assert.fail);
      await until(() => existsSync(join(folder, "shown")));
      process.env["BROWSER"] = join(folder, "none");
      const notes: string[] = [];
      await openFile("report.html", (text) => notes.push(text));
      assert.match(notes.join(), /no browser could be started .*open .*report\.html yourself/);
    } finally {
      if (before === undefined) delete process.env["BROWSER"];
      else process.env["BROWSER"] = before;
      await rm(folder, { recursive: true, force: true });
    }
  });
});
