import { number, text, whole } from "../setting.ts";

/** The port on which workers take rollouts of a training run. */
export const workers = {
  port: whole("Let workers run the rollouts (coa worker --coordinator …), on this port; 0 for any free one", { flag: "workers-port", min: 0, max: 65_535, valueName: "n" }),
  host: text("Address for workers; beyond loopback a key is needed", { default: "127.0.0.1" }),
  key: text("Key that workers must bring (default: COA_WORKERS_KEY)"),
  silenceSeconds: number("A worker that is silent for so long counts as lost, and its rollouts are offered again", { default: 30, min: 1 }),
  patienceSeconds: number("How long a worker waits for a coordinator that can't be reached", { default: 60, min: 0 }),
  deadlineSeconds: number("A rollout that a worker has not finished by then is offered again", { default: 3600, min: 1 }),
} as const; // biome-ignore format: one setting a line
