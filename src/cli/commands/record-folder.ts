/** Where recordings are, for the commands of `coa record`. */

import { openWorkspace } from "../../base/files/workspace.ts";

/** The folder that was named, or the workspace's own. */
export async function recordingsFolder(given: string | undefined): Promise<string> {
  return given ?? (await openWorkspace()).folder("recordings");
}
