/**
 * Routes by method and path: `"POST /v1/responses/{id}/cancel"`. A path that is not served is refused with 404, a path
 * that is served under another method with 405; the shape of the refusal is the caller's. HEAD is answered as GET is: the
 * server leaves the body out.
 */
import type { Handler } from "./handler.ts";
import { RefusedRequest } from "./request-body.ts";

interface Route {
  method: string;
  parts: readonly string[];
  handler: Handler;
}

/** One handler of many routes. `{name}` in a path takes one part and is found in `request.params`. */
export function routes(table: Readonly<Record<string, Handler>>): Handler {
  const fixed = new Map<string, Handler>();
  const open: Route[] = [];
  for (const [pattern, handler] of Object.entries(table)) {
    const [method = "", path = ""] = pattern.split(" ");
    if (path.includes("{")) open.push({ method, parts: path.split("/"), handler });
    else fixed.set(`${method} ${path}`, handler);
  }
  return async (request, reply) => {
    const path = request.path.length > 1 ? request.path.replace(/\/$/, "") : request.path;
    const method = request.method === "HEAD" ? "GET" : request.method;
    const exact = fixed.get(`${method} ${path}`);
    if (exact) return exact(request, reply);
    const parts = path.split("/");
    for (const route of open) {
      const params = route.method === method ? match(route.parts, parts) : undefined;
      if (params) return route.handler({ ...request, params }, reply);
    }
    const methods = [
      ...[...fixed.keys()].filter((key) => key.endsWith(` ${path}`)).map((key) => key.slice(0, key.indexOf(" "))),
      ...open.filter((route) => match(route.parts, parts)).map((route) => route.method),
    ];
    if (methods.length > 0)
      throw new RefusedRequest(405, `${request.method} is not served at ${path}`, { allow: methods.join(", ") });
    throw new RefusedRequest(404, `nothing is served at ${request.method} ${path}`);
  };
}

function match(pattern: readonly string[], parts: readonly string[]): Record<string, string> | undefined {
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
