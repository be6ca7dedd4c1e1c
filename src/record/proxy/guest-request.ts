/**
 * What a recorder inside another program says of its calls. `coa record run` starts programs of any language; those of Python
 * readdress their model calls to the proxy, as `/t/<token>/<server>/…` (the server's origin in base64url), and tell in headers
 * what they know: the run, the agent, the calls whose replies they had seen; and what a framework gave back in the end. The token keeps the proxy from passing calls
 * of strangers to servers of their choice.
 */
import { Buffer } from "node:buffer";
import { timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { z } from "zod";
import { Refusal } from "../../base/http/refusal.ts";
import { defined, parseJson } from "../../core/json-value.ts";
import { agentHintSchema, givenPath, type WireExchange } from "../wire-exchange.ts";

/** A call of a guest: where it goes, and what goes into its record. */
export interface GuestRequest {
  to: string;
  path: string;
  known: Pick<WireExchange, "runId" | "scope" | "agent" | "after" | "joins"> & { id?: string };
}

/** Reads a guest's request; undefined for one that is not under the guests' path. */
export function guestRequest(token: string, url: string, headers: IncomingHttpHeaders): GuestRequest | undefined {
  const [, given, server, path] = /^\/t\/([^/]+)\/([\w-]+)(\/.*)$/.exec(url) ?? [];
  if (given === undefined || server === undefined || path === undefined) return undefined;
  if (!sameText(given, token)) throw new Refusal(403, "this address belongs to another recording");
  const tells = path === givenPath;
  const to = tells ? "" : Buffer.from(server, "base64url").toString("utf8");
  if (!tells && !/^https?:$/.test(URL.parse(to)?.protocol ?? "")) throw new Refusal(400, `no server: ${to}`);
  const text = (name: string) => {
    const value = headers[`x-coa-${name}`];
    return typeof value === "string" && value !== "" ? decodeURIComponent(value) : undefined;
  };
  const seen = z
    .array(z.uuid())
    .max(64)
    .parse(text("after")?.split(",") ?? []);
  const [after, ...joins] = seen.toReversed();
  const id = z.uuid().optional().parse(text("call"));
  const runId = z.string().min(1).max(128).optional().parse(text("run"));
  const scope = z.string().min(1).max(128).optional().parse(text("scope"));
  const agent = agentHintSchema.optional().parse(parseJson(text("agent") ?? ""));
  return {
    to,
    path,
    known: { ...defined({ id, runId, scope, agent, after }), ...(joins.length > 0 && { joins }) },
  };
}

function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
