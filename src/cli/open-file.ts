/** Shows a written HTML file in the browser, where one was asked for with `--open`. */
import { spawn } from "node:child_process";
import { resolve } from "node:path";

/** The `--open` flag of commands that write HTML. */
export const openFlag = {
  type: "boolean",
  default: false,
  describe: "Open the HTML file in the browser ($BROWSER)",
} as const;

const openers: Partial<Record<NodeJS.Platform, string[]>> = { darwin: ["open"], win32: ["cmd", "/c", "start", ""] };

/** Opens the file; a machine without a browser is told where it is. */
export function openFile(file: string, note: (text: string) => void): Promise<void> {
  const { BROWSER: browser } = process.env;
  const [command = "xdg-open", ...args] = browser ? [browser] : (openers[process.platform] ?? []);
  return new Promise((done) => {
    const child = spawn(command, [...args, resolve(file)], { stdio: "ignore", detached: true });
    child.on("error", () => {
      note(`no browser could be started (${command}): open ${resolve(file)} yourself, or set BROWSER`);
      done();
    });
    child.on("spawn", () => {
      child.unref();
      done();
    });
  });
}
