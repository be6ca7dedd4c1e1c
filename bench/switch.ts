/** Canary, kill, an old system that is down and a rollback under 200 clients. What a cascade is worth: `bench/switch/outcomes.ts`. */
import type { BenchOptions, Figure } from "../scripts/bench.ts";
import { storm } from "./switch/storm.ts";

export default async function bench(_: BenchOptions): Promise<Figure[]> {
  const { phases, wrong, silent, canary } = await storm({ clients: 200, requests: 2 });
  for (const line of [...wrong, ...silent].slice(0, 20)) console.error(line);
  const none = (name: string, value: number): Figure => ({ name, value, unit: "", target: "0", met: value === 0 });
  return [
    ...Object.entries(phases).flatMap(([name, counts]) =>
      Object.entries(counts).map(([what, value]) => ({ name: `${name}: ${what}`, value, unit: "" })),
    ),
    { name: "conversations of the canary when the server was killed", value: canary.before, unit: "" },
    none("answers of a wrong version", wrong.length),
    none("answers that came another way than they said", silent.length),
  ];
}
