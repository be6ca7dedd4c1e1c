/** What the demo's page and its worker say to each other. */
import type { ChainEvent } from "../../src/core/events.ts";

/** What the page is sent. */
export type FromDemo =
  | { type: "ready"; megabytes: number }
  | { type: "question"; question: string; answers: readonly string[]; prompt: string[] }
  | { type: "event"; event: ChainEvent; pieces?: string[] }
  | { type: "failed"; message: string };

/** A question of a world by its number, or one that the visitor wrote. */
export interface ToDemo {
  world: number;
  number: number;
  question?: string;
}
