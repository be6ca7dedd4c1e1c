/**
 * Routes by method and path: `"POST /v1/responses/{id}/cancel"`; `{name}` takes one part of the path, `**` in front any
 * number of them. A path that is not served is refused with 404, one that is served under another method with 405. HEAD is
 * answered as GET is: the server leaves the body out.
 */
import { Refusal } from "./refusal.ts";

/** A route that was found, with the parts of the path that it names. */
export interface Found<Work> {
  pattern: string;
  work: Work;
  params: Record<string, string>;
}

/** Finds the route of a request, or what it is refused with. */
export function routeFinder<Work>(
  table: Readonly<Record<string, Work>>,
): (method: string, path: string) => Found<Work> | Refusal {
  const routes = Object.entries(table).map(([pattern, work]) => {
    const [method = "", path = ""] = pattern.split(" ");
    return { pattern, method, parts: path.split("/"), work };
  });
  // What is written out comes before what is open: /tools/batch is not the tool named batch.
  routes.sort((a, b) => Number(a.pattern.includes("{")) - Number(b.pattern.includes("{")));
  return (asked, given) => {
    const path = given.length > 1 ? given.replace(/\/$/, "") : given;
    const method = asked === "HEAD" ? "GET" : asked;
    const parts = path.split("/");
    const fitting: string[] = [];
    for (const { pattern, method: served, parts: wanted, work } of routes) {
      const params = match(wanted, parts);
      if (params && served === method) return { pattern, work, params };
      if (params) fitting.push(served);
    }
    if (fitting.length === 0) return new Refusal(404, `nothing is served at ${asked} ${path}`);
    return new Refusal(405, `${asked} is not served at ${path}`, { headers: { allow: fitting.join(", ") } });
  };
}

function match(pattern: readonly string[], parts: readonly string[]): Record<string, string> | undefined {
  if (pattern[0] === "**") {
    const end = pattern.slice(1);
    return parts.length > end.length ? match(end, parts.slice(-end.length)) : undefined;
  }
  if (pattern.length !== parts.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, wanted] of pattern.entries()) {
    const part = parts[index]!;
    if (!wanted.startsWith("{")) {
      if (wanted !== part) return undefined;
    } else if (part === "") return undefined;
    else {
      try {
        params[wanted.slice(1, -1)] = decodeURIComponent(part);
      } catch {
        return undefined;
      }
    }
  }
  return params;
}
