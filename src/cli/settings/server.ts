import { list, number, text, whole } from "../setting.ts";

/** Where servers listen, who may call them, how they stop. */
export const server = {
  port: whole("Port; 0 for any free one", { flag: "port", default: 4242, min: 0, max: 65_535, valueName: "n" }),
  host: text("Address to listen on; beyond this machine only with keys", { flag: "host", default: "127.0.0.1", valueName: "address" }),
  apiKeyFile: text("API keys that callers need, one to a line (default: COA_API_KEY)", { flag: "api-key-file", valueName: "file" }),
  cors: list("Origins of web pages that may call the server"),
  maxBodyMb: number("Max size of a request body in megabytes", { default: 20, min: 0.001 }),
  drainSeconds: number("Max seconds that running requests get to finish when the server stops", { default: 30, min: 0 }),
} as const; // biome-ignore format: one setting a line
