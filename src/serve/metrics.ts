/** Counters of a server in the text format of Prometheus. */
import type { Trajectory } from "../core/trajectory.ts";

type Labels = Readonly<Record<string, string | number>>;

export type Metrics = ReturnType<typeof metrics>;

const help: Record<string, string> = {
  coa_requests_total: "Requests answered, by route and status.",
  coa_request_seconds: "Time to the end of requests, by route, model and key.",
  coa_first_event_seconds: "Time to the first event of streams, by route, model and key.",
  coa_queue_seconds: "Time that chains waited for a place, by route, model and key.",
  coa_key_tokens_total: "Tokens billed to each key.",
  coa_chains_total: "Chains that ended, by how.",
  coa_tokens_total: "Tokens of chains: prompt, completion, computed.",
  coa_tool_calls_total: "Tool calls of chains.",
  coa_shadow_total: "Requests answered by the old system, by whether the chain beside it agrees.",
  coa_shadow_seconds_total: "Time to the answer of requests in the shadow, by system.",
  coa_fallback_total: "Requests passed on to the old system, by reason.",
  coa_cascade_total: "Requests of a cascade, by which way the answer came and why.",
  coa_audit_total: "Audited requests, by whether the old system says something else.",
  coa_cascade_alerts_total: "Kinds of questions for which the promise no longer holds.",
  coa_chains_running: "Chains under way.",
  coa_chains_waiting: "Chains in the queue.",
};

/** Upper bounds of histograms, in seconds. */
const bounds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

/** Counters that begin at 0. */
export function metrics() {
  const counters = new Map<string, Map<string, number>>(); // name -> labels -> value
  const timed = new Set<string>();
  const counted = {
    time(name: string, labels: Labels, seconds: number): void {
      timed.add(name);
      for (const limit of bounds) counted.add(`${name}_bucket`, { ...labels, le: limit }, seconds <= limit ? 1 : 0);
      counted.add(`${name}_bucket`, { ...labels, le: "+Inf" });
      counted.add(`${name}_sum`, labels, seconds);
      counted.add(`${name}_count`, labels);
    },
    add(name: string, labels: Labels, amount = 1): void {
      const series = counters.get(name) ?? new Map<string, number>();
      counters.set(name, series);
      // JSON escapes a text as the page does.
      const key = Object.entries(labels).map(([label, value]) => `${label}=${JSON.stringify(String(value))}`).join(","); // biome-ignore format: one key
      series.set(key, (series.get(key) ?? 0) + amount);
    },
    /** The page; `gauges` are read at this moment. */
    text(gauges: Readonly<Record<string, number>>): string {
      const lines: string[] = [];
      for (const [name, series] of counters) {
        const [whole, part] = [name.replace(/_(?:bucket|sum|count)$/, ""), name.endsWith("_bucket")];
        if (!timed.has(whole)) lines.push(`# HELP ${name} ${help[name] ?? name}`, `# TYPE ${name} counter`);
        else if (part) lines.push(`# HELP ${whole} ${help[whole] ?? whole}`, `# TYPE ${whole} histogram`);
        for (const [labels, value] of series) lines.push(`${name}${labels === "" ? "" : `{${labels}}`} ${value}`);
      }
      for (const [name, value] of Object.entries(gauges)) {
        lines.push(`# HELP ${name} ${help[name] ?? name}`, `# TYPE ${name} gauge`, `${name} ${value}`);
      }
      return `${lines.join("\n")}\n`;
    },
  };
  return counted;
}

export function countChain(to: Metrics, { ending, usage }: Trajectory): void {
  to.add("coa_chains_total", { ending: ending.reason });
  to.add("coa_tokens_total", { kind: "prompt" }, usage.promptTokens);
  to.add("coa_tokens_total", { kind: "completion" }, usage.completionTokens);
  to.add("coa_tokens_total", { kind: "computed" }, usage.computedTokens);
  to.add("coa_tool_calls_total", {}, usage.toolCalls);
}
