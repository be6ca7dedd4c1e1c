/**
 * Chains as they are, for our own tools: `POST /v1/chains` runs a question, or continues a trajectory that was cut or edited,
 * and answers with the trajectory (or streams what happens and ends with it); `DELETE /v1/chains/{id}` removes a kept one.
 */

import { parse, Refusal } from "../base/http/refusal.ts";
import { readSettings } from "../base/wire/openai-chat.ts";
import { asString } from "../core/json-value.ts";
import type { Model } from "../core/model.ts";
import { defineTask } from "../core/task.ts";
import { type Segment, type Trajectory, writtenForm } from "../core/trajectory.ts";
import { trajectorySchema } from "../core/trajectory-schema.ts";
import { chainRequest } from "./chain-request.ts";
import type { ChainService } from "./chain-service.ts";
import type { Endpoint } from "./keys.ts";
import { requestFields } from "./request-fields.ts";
import { sendReply, settle } from "./send-reply.ts";

/** Runs or continues one chain. */
export function chainsEndpoint(service: ChainService): Endpoint {
  return async (call) => {
    const { request, caller } = call;
    const body = parse(requestFields.chains, await call.json());
    const given = body["trajectory"] === undefined ? undefined : editedTrajectory(body["trajectory"], service.model);
    const question = asString(body["question"]) ?? given?.prompt.findLast(({ role }) => role === "user")?.content;
    if (!question) throw new Refusal(400, "give a question, or a trajectory to continue", { param: "question" });
    const wire = { ...readSettings(body), messages: [{ role: "user" as const, content: question }], tools: [] };
    const asked = await chainRequest(service, { wire, body, caller });
    const { id, owner } = asked;
    asked.task = defineTask({ id: given?.taskId ?? id, question });
    if (given) {
      asked.session = id;
      asked.continues = { chain: { owner, clientTools: [], session: id, trajectory: given }, results: {} };
    }
    const run = await service.start(asked, request.signal);
    let ended: Trajectory | undefined;
    call.headers["x-coa-trajectory"] = asked.id;
    return sendReply(call, { stream: asked.stream, whole: () => ended, named: true }, async (emit) => {
      const end = await run((event) => void emit([event]));
      ended = await settle(end, caller);
      await emit([end, "[DONE]"]);
    });
  };
}

/** A trajectory from outside. Tokens are used only where they decode to the text beside them. */
function editedTrajectory(value: unknown, { tokenizer }: Model): Trajectory {
  let read: Trajectory;
  try {
    read = trajectorySchema.parse(value);
  } catch {
    throw new Refusal(400, "this is not a trajectory", { param: "trajectory" });
  }
  const { promptTokens: _promptTokens, pending: _pending, reward: _reward, ...rest } = read;
  const spells = ({ tokens, ...segment }: Segment) =>
    tokenizer &&
    tokens?.every((token) => Number.isInteger(token) && token >= 0 && token < tokenizer.vocabularySize) &&
    tokenizer.decode(tokens) === writtenForm(segment);
  const segments = rest.segments.map((segment): Segment => {
    if (spells(segment)) return segment;
    const { tokens: _tokens, logprobs: _logprobs, entropies: _entropies, ...plain } = segment;
    return plain;
  });
  const ended = segments.findLastIndex(({ tag, by }) => by === "model" && tag === read.language?.profile.answer);
  if (ended === segments.length - 1 && ended >= 0)
    throw new Refusal(400, "the trajectory is already answered: truncate it before continuing", {
      param: "trajectory",
    });
  return { ...rest, segments, answer: null };
}

/** Removes a kept chain of the caller. */
export function deleteChainEndpoint(
  forget: ((id: string, owner: string) => Promise<boolean>) | undefined,
  service: ChainService,
): Endpoint {
  return async ({ request, caller }) => {
    const id = request.params["id"]!;
    const waited = await service.suspended.delete(id, caller.owner);
    const kept = (await forget?.(id, caller.owner)) ?? false;
    if (!kept && !waited)
      throw new Refusal(404, `there is no kept chain ${id}`, { code: "chain_not_found", param: "id" });
    return { id, object: "chain", deleted: true };
  };
}
