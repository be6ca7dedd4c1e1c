/**
 * Where a request goes: its path exactly as it was sent, on the server's host. Two things are said on the way: a server
 * given with a path of its own (`/api/v1`, `/v1beta/openai`) has it in place of the proxy's `/v1`, and a client of the
 * OpenAI protocol that leaves the version out gets it.
 */

/** Paths of the OpenAI protocol without a version. */
const unversioned = /^\/(?:chat\/completions|completions|responses|embeddings|models|conversations)(?=[/?]|$)/;

/** The address of a path on the server that `to` names. */
export function upstreamUrl(to: string, path: string): URL {
  const server = new URL(to);
  const base = server.pathname.replace(/\/+$/, "");
  const own = path === base || path.startsWith(`${base}/`) || path.startsWith(`${base}?`);
  const sent = unversioned.test(path) ? `/v1${path}` : path;
  const rest = base !== "" && !own ? sent.replace(/^\/v1(?=[/?]|$)/, base) : sent;
  return new URL(server.origin + rest);
}
