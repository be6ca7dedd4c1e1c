/**
 * The playground's questions. A player is a model with its tools behind `POST /v1/chains` of `coa serve`, in this
 * process or on another server; the studio itself runs nothing. What a player says is sent to the browser as it comes;
 * a chain that has ended is kept in the workspace, so that it can be looked at, reviewed and learned from like any
 * other.
 */
import { join } from "node:path";
import { z } from "zod";
import { openJsonl } from "../../base/files/open-jsonl.ts";
import { readJsonl } from "../../base/files/read-jsonl.ts";
import { streamReply } from "../../base/http/event-stream.ts";
import type { Route } from "../../base/http/guard.ts";
import { Refusal } from "../../base/http/refusal.ts";
import { serverEvents } from "../../base/http/server-events.ts";
import { messageOf } from "../../core/errors.ts";
import { asObject, asString, type Json, parseJson } from "../../core/json-value.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import { trajectorySchema } from "../../core/trajectory-schema.ts";
import { NotFound, type StudioContext } from "./reader.ts";

export interface Player {
  name: string;
  /** Its tools and profile; a local model is opened for it. */
  about(): Promise<PlayerAbout>;
  /** Sends a body to its `POST /v1/chains`. */
  ask(body: Json, signal: AbortSignal): Promise<Response>;
}

/** The tools and profile of a player. */
export interface PlayerAbout {
  model: string;
  profile?: string;
  tools: string[];
  questions: string[];
}

const keptFile = ({ home }: StudioContext) => join(home, "playground", "chains.jsonl");

/** Routes of the playground over some players. */
export function playRoutes(context: StudioContext, players: readonly Player[]): Readonly<Record<string, Route>> {
  const named = (name: string | null | undefined) => {
    const player = players.find((one) => one.name === name);
    if (!player) throw new NotFound(`no model named "${name}" plays here`);
    return player;
  };
  return {
    "GET /api/players": () => players.map(({ name }) => name),
    "GET /api/player": ({ request }) => named(request.query.get("name")).about(),
    "GET /api/played": ({ request }) => playedChain(context, request.query.get("id") ?? ""),
    "POST /api/play": async (call) => {
      const { signal } = call.request;
      const { player: name, ...body } = await call.json();
      const response = await named(asString(name)).ask({ ...body, stream: true }, signal);
      if (!response.ok || !response.body) throw new Refusal(response.status, await refusalOf(response));
      // Where the browser leaves, reading ends and the player is told to stop.
      const said = response.body.pipeThrough(new TransformStream<Uint8Array>(), { signal });
      await streamReply(call, {}, async (stream) => {
        stream.open();
        for await (const data of serverEvents(said)) {
          const ended = endedChain(data);
          if (ended)
            await keep(context, ended).catch((error) =>
              stream.write(JSON.stringify({ error: { message: `not kept: ${messageOf(error)}` } })),
            );
          await stream.write(data);
        }
      });
    },
  };
}

function endedChain(data: string): Trajectory | undefined {
  if (!data.startsWith('{"type":"end"')) return undefined;
  const parsed = z.object({ trajectory: trajectorySchema }).safeParse(JSON.parse(data));
  return parsed.success ? parsed.data.trajectory : undefined;
}

async function keep(context: StudioContext, chain: Trajectory): Promise<void> {
  const writer = await openJsonl<Trajectory>(keptFile(context));
  try {
    await writer.append(chain);
  } finally {
    await writer.close();
  }
}

/** A chain that was run before, whole. */
async function playedChain(context: StudioContext, id: string): Promise<Trajectory> {
  for await (const chain of readJsonl(keptFile(context), trajectorySchema, { onBad: () => {} })) {
    if (chain.id === id) return chain;
  }
  throw new NotFound(`the chain ${id} was not played here`);
}

async function refusalOf(response: Response): Promise<string> {
  const text = await response.text();
  const said = asString(asObject(asObject(parseJson(text))?.["error"])?.["message"]);
  return said ?? `HTTP ${response.status}: ${text.slice(0, 1_000)}`;
}
