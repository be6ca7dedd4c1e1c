/** Shows a written HTML file or a server in the browser. */
import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { toggle } from "./setting.ts";

/** The `--open` flag of commands that write HTML. */
export const openFlag = toggle("Open the HTML file in the browser ($BROWSER)", { group: "output" });

const openers: Partial<Record<NodeJS.Platform, string[]>> = { darwin: ["open"], win32: ["cmd", "/c", "start", ""] };

/** Opens a file or an address; a machine without a browser is told where it is. */
export function openFile(file: string, note: (text: string) => void): Promise<void> {
  const { BROWSER: browser } = process.env;
  const [command = "xdg-open", ...args] = browser ? [browser] : (openers[process.platform] ?? []);
  const target = /^https?:/.test(file) ? file : resolve(file);
  return new Promise((done) => {
    const child = spawn(command, [...args, target], { stdio: "ignore", detached: true });
    child.on("error", () => {
      note(`no browser could be started (${command}): open ${target} yourself, or set BROWSER`);
      done();
    });
    child.on("spawn", () => {
      child.unref();
      done();
    });
  });
}
