/**
 * `POST /v1/responses/compact`: a long conversation as one item that replaces it in later requests. What user and
 * assistant said stays; reasoning and executed tools are left out. The item is encrypted and signed: clients carry it
 * and can't read or change it.
 */
import { randomUUID } from "node:crypto";
import { replyJson } from "../base/http/handler.ts";
import { readResponsesInput } from "../base/wire/openai-responses.ts";
import { asString } from "../core/json-value.ts";
import { estimateTokens } from "../core/token-estimate.ts";
import { ApiError } from "./api-error.ts";
import type { ChainService } from "./chain-service.ts";
import { checkModel } from "./check-request.ts";
import { conversationOf } from "./create-response.ts";
import type { Call } from "./endpoint.ts";
import type { ResponseStore } from "./stored-responses.ts";

const lifeMs = 30 * 24 * 3_600_000;

/** Compacts one conversation. */
export function compactEndpoint(service: ChainService, store: ResponseStore): (call: Call) => Promise<void> {
  return async ({ reply, caller, headers, json }) => {
    const body = await json();
    const model = asString(body["model"]);
    if (model === undefined) throw new ApiError(400, "the request names no model", { param: "model" });
    checkModel(service, model);
    const key = randomUUID().replaceAll("-", "");
    const { seal } = await service.suspended;
    const { conversation } = conversationOf(body, `resp_${key}`, store, caller.owner, seal);
    const said = readResponsesInput({ input: conversation }).filter(({ role, content }) => role !== "tool" && content !== ""); // biome-ignore format: one condition
    const items = said.map(({ role, content }) => ({ type: "message", role, content }));
    const sealed = seal.close({ items }, caller.owner, lifeMs);
    if (sealed === undefined) throw new ApiError(400, "the conversation is too long for one compacted item");
    const count = service.model.countTokens ?? estimateTokens;
    const [input, output] = [JSON.stringify(conversation), JSON.stringify(items)].map(count) as [number, number];
    const compaction = {
      id: `resp_${key}`,
      object: "response.compaction",
      created_at: Math.floor(Date.now() / 1000),
      output: [{ type: "compaction", id: `cmp_${key}`, encrypted_content: sealed }],
      usage: {
        input_tokens: input,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: output,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: input + output,
      },
    };
    replyJson(reply, 200, compaction, headers);
  };
}
