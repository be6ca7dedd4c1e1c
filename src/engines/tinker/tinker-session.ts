/**
 * A session with a Tinker server: the server keeps models as long as it gets requests from us, so a heartbeat is sent
 * every ten seconds. A laptop that slept too long finds its session gone: what needs it then fails with what to do.
 */
import { z } from "zod";
import { HttpError } from "../../base/http/http-client.ts";
import type { EngineCapabilities } from "../../core/engine.ts";
import { CoaError } from "../../core/errors.ts";
import { type TokenizerFingerprint, tokenizerDifference } from "../../core/fingerprint.ts";
import type { TinkerClient } from "./tinker-client.ts";

const heartbeatMs = 10_000;

/** The version of the protocol that we speak, as its own client would say it. */
export const protocolVersion = "0.25.0";

/** Starts a session and keeps it alive until it is closed. */
export async function openSession(client: TinkerClient, onNote: (text: string) => void) {
  const created = await client.ask("POST", "create_session", {
    tags: [],
    user_metadata: { client: "chain-of-agents" },
    sdk_version: protocolVersion,
    type: "create_session",
  });
  for (const key of ["info_message", "warning_message"]) if (typeof created[key] === "string") onNote(created[key]);
  if (typeof created["error_message"] === "string") throw new CoaError("engine", created["error_message"]);
  const id = String(created["session_id"]);
  let lost = false;
  const timer = setInterval(() => {
    client.ask("POST", "session_heartbeat", { session_id: id, type: "session_heartbeat" }).catch((error: unknown) => {
      lost ||= error instanceof HttpError && error.status === 404;
    });
  }, heartbeatMs);
  timer.unref();
  return {
    id,
    /** Throws when the server no longer knows the session. */
    check(): void {
      if (lost) throw forgotten();
    },
    close: (): void => clearInterval(timer),
  };
}

function forgotten(cause?: unknown): CoaError {
  const what = "the server no longer knows our session (it was restarted, or had no request of ours for too long)";
  return new CoaError("engine", `${what}; resume from the last checkpoint`, { cause });
}

/** Waits for an answer. That the server does not know what it gave us means that it has forgotten the session. */
export async function remembered<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    const unknown = /"(?:Model|Future|Session|Sampling session) not found"/;
    throw error instanceof HttpError && error.status === 404 && unknown.test(error.body) ? forgotten(error) : error;
  }
}

export interface ServerKind {
  /** `coa`, or `tinker` for all others. */
  name: "coa" | "tinker";
  reduction: "sum" | "sequence-mean";
  losses: EngineCapabilities["losses"];
  requestLimits: { examples: number; bytes: number };
  gradientNorm: boolean;
  gradientClipping: boolean;
  /** Longest context of the model, where the server says it. */
  maxContext?: number;
}

/** What our own server says of itself. */
const coaExtension = z.object({
  version: z.literal(1),
  lossOptions: z.array(z.enum(["dual_clip", "temperature"])),
  gradientNorm: z.boolean(),
  tokenizer: z.object({ size: z.number(), fingerprint: z.string() }).optional(),
});

/** What every client is told; what is not said is as the SDK has it. */
const clientConfig = z.object({
  fwdbwd_max_chunk_len: z.number().int().min(1).catch(1024),
  fwdbwd_max_chunk_bytes_count: z.number().min(1).catch(5e6),
});

/**
 * Asks the server what it is, and refuses one that does not have the base model. Hosted Tinker and SkyRL on GPUs sum token losses;
 * SkyRL on jax takes means per sequence and says so nowhere; our own server says what it can under `coa`.
 */
export async function findServer(
  client: TinkerClient,
  options: {
    baseModel: string;
    baseURL: string;
    reduction?: ServerKind["reduction"];
    tokenizer?: TokenizerFingerprint;
  },
): Promise<ServerKind> {
  const config = await client.ask("POST", "client/config", { sdk_version: protocolVersion }).catch((error: unknown) => {
    if (error instanceof HttpError && error.status === 404) return {};
    throw error;
  });
  const { supported_models: supported } = await client.ask("GET", "get_server_capabilities");
  const models = (supported ?? []) as { model_name: string; max_context_length?: number | null }[];
  const names = models.map(({ model_name }) => model_name);
  if (names.length > 0 && !names.includes(options.baseModel)) {
    throw new CoaError("usage", `${options.baseURL} has no model "${options.baseModel}"; it has ${names.join(", ")}`);
  }
  const window = models.find(({ model_name }) => model_name === options.baseModel)?.max_context_length;
  const told = clientConfig.parse(config);
  const limits = {
    ...(window ? { maxContext: window } : {}),
    requestLimits: { examples: told.fwdbwd_max_chunk_len, bytes: told.fwdbwd_max_chunk_bytes_count },
  };
  const own = coaExtension.safeParse((config as Record<string, unknown>)["coa"]);
  if (own.success) {
    const { tokenizer: theirs } = own.data;
    const whose = { own: "the folder's", other: `that of ${options.baseModel} on the server` };
    const difference = options.tokenizer && theirs && tokenizerDifference(options.tokenizer, theirs, whose);
    if (difference) throw new CoaError("usage", `${difference}: give the folder of the model that the server has`);
    const known = own.data.lossOptions;
    const tempered = known.includes("temperature") ? (["temperature"] as const) : [];
    const dual = known.includes("dual_clip") ? (["dualClip"] as const) : [];
    return {
      name: "coa",
      reduction: "sum",
      losses: lossesOf("sum", tempered, dual),
      gradientNorm: own.data.gradientNorm,
      gradientClipping: true,
      ...limits,
    };
  }
  const reduction = options.reduction ?? "sum";
  return {
    name: "tinker",
    reduction,
    losses: lossesOf(reduction, [], []),
    gradientNorm: reduction === "sequence-mean",
    gradientClipping: false,
    ...limits,
  };
}

function lossesOf(
  reduction: ServerKind["reduction"],
  shared: readonly "temperature"[],
  clipped: readonly "dualClip"[],
): EngineCapabilities["losses"] {
  return {
    cross_entropy: { reduction: reduction === "sum" ? "sum" : "weighted-sequence-mean", options: shared },
    importance_sampling: { reduction, options: shared },
    ppo: { reduction, options: [...shared, ...clipped] },
    cispo: { reduction, options: shared },
  };
}
