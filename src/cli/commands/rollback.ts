import { openWorkspace } from "../../base/files/workspace.ts";
import { recordAct } from "../../switch/registry.ts";
import { defineCommand } from "../command.ts";

export default defineCommand({
  summary: "Withdraw the canary, or go back to the model that was live before; its conversations move at once.",
  examples: ["coa rollback"],
  options: {},
  async run() {
    const { root } = await openWorkspace();
    const { live, canary } = await recordAct(root, { act: "rollback" });
    return { json: { live, canary }, text: `live: ${live}` };
  },
});
