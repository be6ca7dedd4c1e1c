/** robots.txt, for crawls that are to honour it: which paths a crawler may read, and how long it should wait between. */

export interface RobotsRules {
  isAllowed(path: string): boolean;
  crawlDelayMs?: number;
}

/** Reads a robots.txt for one crawler name; rules for that name replace those for everybody (RFC 9309). */
export function parseRobots(text: string, crawler: string): RobotsRules {
  const groups: { agents: string[]; rules: { allow: boolean; path: string }[]; delay?: number }[] = [];
  let current: (typeof groups)[number] | undefined;
  let namingAgents = false;
  for (const line of text.split(/\r\n|\r|\n/)) {
    const [, key = "", value = ""] = /^\s*([a-z-]+)\s*:\s*([^#]*)/i.exec(line) ?? [];
    const field = key.toLowerCase();
    if (field === "user-agent") {
      if (!namingAgents || !current) groups.push((current = { agents: [], rules: [] }));
      current.agents.push(value.trim().toLowerCase());
      namingAgents = true;
    } else if (current && (field === "allow" || field === "disallow")) {
      if (value.trim() !== "") current.rules.push({ allow: field === "allow", path: value.trim() });
      namingAgents = false;
    } else if (current && field === "crawl-delay") {
      if (Number(value) >= 0) current.delay = Number(value) * 1000;
      namingAgents = false;
    }
  }
  const named = groups.filter((group) => group.agents.some((agent) => agent === crawler.toLowerCase()));
  const chosen = named.length > 0 ? named : groups.filter((group) => group.agents.includes("*"));
  const rules = chosen.flatMap((group) => group.rules).map((rule) => ({ ...rule, pattern: pathPattern(rule.path) }));
  return {
    crawlDelayMs: chosen.find((group) => group.delay !== undefined)?.delay,
    isAllowed(path) {
      // The longest matching rule decides; allow wins a tie.
      let best: { allow: boolean; path: string } | undefined;
      for (const rule of rules) {
        if (!rule.pattern.test(path)) continue;
        const longer = !best || rule.path.length > best.path.length;
        if (longer || (rule.path.length === best?.path.length && rule.allow)) best = rule;
      }
      return best?.allow ?? true;
    },
  };
}

function pathPattern(path: string): RegExp {
  const anchored = path.endsWith("$");
  const escaped = (anchored ? path.slice(0, -1) : path).replace(/[.+?^${}()|[\]\\]/g, "\\$&").replace(/\*+/g, ".*");
  return new RegExp(`^${escaped}${anchored ? "$" : ""}`);
}
