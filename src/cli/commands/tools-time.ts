import { defineCommand, missingArgument, numberOf } from "../command.ts";
import { openTools, toolFlags } from "../open-tools.ts";
import { trialOf } from "../try-tool.ts";

export default defineCommand({
  name: "tools time",
  summary: "Call one tool many times and say how long it takes.",
  arguments: "<tool> <body…>",
  examples: ["coa tools time code 'print(1)' --rounds 20", 'coa tools time wiki_search "Lyon" --index .coa/index/wiki'],
  options: {
    ...toolFlags,
    rounds: { type: "string", default: "10", valueName: "n", describe: "How many calls" },
    parallel: { type: "string", default: "1", valueName: "n", describe: "How many at a time" },
  },
  async run({ values, positionals, out, signal }) {
    const [name, ...words] = positionals;
    if (!name || words.length === 0) throw missingArgument(this, "a tool and what to ask it");
    const rounds = numberOf(values.rounds, "rounds", { min: 1, max: 100_000, integer: true })!;
    const parallel = numberOf(values.parallel, "parallel", { min: 1, max: 1_000, integer: true })!;
    const opened = await openTools({ ...values, tools: values.tools ?? name }, { signal });
    try {
      const call = await trialOf(opened.tools.find((tool) => tool.name === name)!, words.join(" "));
      // The first call starts what has to be started; it is told apart.
      const first = await call(signal);
      const times: number[] = [];
      let failed = first.ok ? 0 : 1;
      let started = 0;
      const begin = performance.now();
      const work = async () => {
        while (started++ < rounds && !signal.aborted) {
          const trial = await call(signal);
          times.push(trial.ms);
          if (!trial.ok) failed++;
        }
      };
      await Promise.all(Array.from({ length: parallel }, work));
      const seconds = (performance.now() - begin) / 1000;
      times.sort((a, b) => a - b);
      const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN;
      const figures = {
        firstMs: first.ms,
        p50Ms: at(0.5),
        p90Ms: at(0.9),
        maxMs: at(1),
        perSecond: times.length / seconds,
        failed,
      };
      if (values.json) out.json({ tool: name, rounds, parallel, ...figures });
      else {
        const ms = (value: number) => `${value < 10 ? value.toFixed(2) : value.toFixed(0)} ms`;
        out.print(
          `first ${ms(first.ms)}, then p50 ${ms(at(0.5))}, p90 ${ms(at(0.9))}, max ${ms(at(1))}, ${figures.perSecond.toFixed(1)} calls/s, ${failed} failed`,
        );
      }
      return failed === 0 ? 0 : 1;
    } finally {
      await opened.close();
    }
  },
});
