/** Which release this is: written into every run folder, and shown by `coa --version`. */
import { readFileSync } from "node:fs";

let known: string | undefined;

export function packageVersion(): string {
  const file = new URL("../../../package.json", import.meta.url);
  return (known ??= (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version);
}
