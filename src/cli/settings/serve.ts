import { choice, text, toggle, whole } from "../setting.ts";

/** How `coa serve` answers requests with chains. */
export const serve = {
  name: text("Model name that clients ask for (default: the model's own)", { flag: "name", valueName: "name" }),
  keep: text("Append every served chain to this JSONL file, secrets removed: the next dataset", { flag: "keep", valueName: "file" }),
  shadow: text("Answer from the old system at this base URL, run the chain beside it and count agreement", { flag: "shadow", valueName: "url" }),
  fallback: text("Ask the system at this base URL if the chain has no answer, or its check is below 3", { flag: "fallback", valueName: "url" }),
  oldModel: text("Model name at the address of shadow or fallback (default: the first one listed there)"),
  maxChains: whole("Max chains at a time; others wait (default: 16, 64 for rollouts)"),
  maxQueue: whole("Max waiting chains; more are refused with 429 (default: 256, 4096 for rollouts)", { min: 0 }),
  state: text("Folder, or postgres:// address that several servers share, of stored responses and waiting chains (default: serve in the workspace)", { flag: "state", valueName: "place" }),
  sealKeyFile: text("Key of the state that clients carry, shared by servers behind one address (default: kept in serve.state)"),
  clientTools: choice(["on", "off"], "Whether clients may bring their own tools (default: on if the model reads of tools in a prompt)"),
  media: choice(["refuse", "ignore"], "What happens to images, sound and files in a request", { default: "refuse" }),
  showTools: toggle("Show executed tools as items of their own to every client of the Responses API"),
  mcpTools: toggle("Offer each tool over MCP too (POST /mcp), besides ask_chain"),
  observations: toggle("Show what tools returned among the reasoning"),
} as const; // biome-ignore format: one setting a line
