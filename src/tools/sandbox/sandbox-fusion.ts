/** Code run by another machine: the HTTP interface of SandboxFusion (`POST /run_code`), which several servers speak. */

import { z } from "zod";
import { httpClient } from "../../base/http/http-client.ts";
import { semaphore } from "../../base/work/limiter.ts";
import { CoaError } from "../../core/errors.ts";
import type { Sandbox, SandboxLimits, SandboxRequest, SandboxResult } from "../../core/sandbox.ts";
import { trimMiddle, withLimits } from "./limits.ts";

export interface SandboxFusionOptions {
  /** Up to, not including, `/run_code`. */
  url: string;
  headers?: Record<string, string>;
  limits?: Partial<SandboxLimits>;
  concurrency?: number;
  /** Tries after a failed connection or a 5xx; running code twice does no harm in a sandbox. */
  retries?: number;
  backOffMs?: number;
}

const stage = z
  .object({
    status: z.string(),
    return_code: z.number().nullish(),
    stdout: z.string().nullish(),
    stderr: z.string().nullish(),
  })
  .nullish();
const reply = z.object({ status: z.string(), message: z.string().nullish(), compile_result: stage, run_result: stage });

/** Makes the sandbox; nothing is sent before the first run. */
export function sandboxFusion(options: SandboxFusionOptions): Sandbox {
  const url = `${options.url.replace(/\/+$/, "")}/run_code`;
  const most = Math.max(1, options.concurrency ?? 16);
  const places = semaphore(most);
  const http = httpClient({
    headers: options.headers,
    retries: options.retries ?? 2,
    retryDelayMs: options.backOffMs ?? 500,
    boundary: "sandbox",
  });

  async function run(request: SandboxRequest): Promise<SandboxResult> {
    const limits = withLimits(request.limits, options.limits);
    const release = await places.acquire(request.signal);
    try {
      const started = performance.now();
      const answer = reply.parse(await post(request, limits));
      return resultOf(answer, limits, performance.now() - started);
    } catch (error) {
      if (error instanceof z.ZodError) {
        throw new CoaError("sandbox", `${url} answered in an unknown form: ${z.prettifyError(error)}`);
      }
      throw error;
    } finally {
      release();
    }
  }

  async function post(request: SandboxRequest, limits: SandboxLimits): Promise<unknown> {
    const body = {
      code: request.code,
      stdin: request.stdin ?? "",
      language: request.language === "javascript" ? "nodejs" : "python",
      run_timeout: limits.wallMs / 1000,
      compile_timeout: limits.wallMs / 1000,
      memory_limit_MB: limits.memoryMb,
    };
    const { signal } = request;
    return http.retry(async () => {
      const answer = await http.send("POST", url, body, { signal, timeoutMs: limits.wallMs * 2 + 10_000 });
      const text = await answer.text();
      try {
        return JSON.parse(text) as unknown;
      } catch (error) {
        throw new CoaError("sandbox", `${url} did not answer with JSON: ${text.slice(0, 200)}`, { cause: error });
      }
    }, signal);
  }

  return {
    level: {
      kind: "remote",
      strength: "strong",
      caveats: [`the code runs at ${options.url}; how well that machine contains it is not visible from here`],
    },
    languages: ["python", "javascript"],
    run,
    close: () => http.close(),
  };
}

function resultOf(answer: z.infer<typeof reply>, limits: SandboxLimits, ms: number): SandboxResult {
  const failedCompile = answer.compile_result && answer.compile_result.status !== "Finished";
  const stage = failedCompile ? answer.compile_result : answer.run_result;
  const stdout = trimMiddle(stage?.stdout ?? "", limits.outputCharacters);
  const stderr = trimMiddle(stage?.stderr ?? answer.message ?? "", limits.outputCharacters);
  const exitCode = stage?.return_code ?? null;
  const result = { exitCode, stdout, stderr, ms };
  if (answer.status === "SandboxError" || !stage) return { ...result, verdict: "crashed" };
  if (stage.status === "TimeLimitExceeded") return { ...result, verdict: "timeout" };
  if (/^MemoryError\b/m.test(stderr.slice(-400))) return { ...result, verdict: "memory" };
  return { ...result, verdict: stage.status === "Finished" && exitCode === 0 ? "ok" : "failed" };
}
