/**
 * In which format passes go to a server. Hosted Tinker takes protobuf, older servers of this kind JSON alone, most take both, and
 * only ours says which. So the first pass goes in the format that the server offers, protobuf where it offers nothing; if the server
 * refuses it for its form, the same pass goes under the same number in the other. What a server has taken once is kept to.
 */
import { HttpError } from "../../base/http/http-client.ts";
import { toPass } from "../../base/wire/tinker.ts";
import { encodePass, type PassRequest } from "../../base/wire/tinker-protobuf.ts";
import type { TinkerBody } from "./tinker-client.ts";

export type WireFormat = "protobuf" | "json";

export interface PassFormat {
  readonly current: WireFormat;
  /** Sends a pass by `submit`, in the format that the server takes. */
  send<T>(pass: PassRequest, submit: (path: string, body: TinkerBody, format: WireFormat) => Promise<T>): Promise<T>;
}

/** Passes for a server that offers these formats, the better one first. */
export function passFormat(offered: readonly WireFormat[]): PassFormat {
  let current = offered[0] ?? "protobuf";
  let known = offered.length === 1;
  return {
    get current() {
      return current;
    },
    async send(pass, submit) {
      const inFormat = (format: WireFormat) => submit(...written(pass, format), format);
      try {
        const taken = await inFormat(current);
        known = true;
        return taken;
      } catch (error) {
        // Before a body is understood, its form is all that can be wrong with it.
        const ofForm = error instanceof HttpError && [400, 415, 422].includes(error.status ?? 0);
        if (known || !ofForm) throw error;
        const other = current === "protobuf" ? "json" : "protobuf";
        const taken = await inFormat(other).catch(() => {
          throw error;
        });
        current = other;
        known = true;
        return taken;
      }
    },
  };
}

function written(pass: PassRequest, format: WireFormat): [path: string, body: TinkerBody] {
  if (format === "protobuf") return ["forward_backward", encodePass(pass)];
  const { modelId: model_id, seqId: seq_id, examples, loss, forwardOnly } = pass;
  const path = forwardOnly ? "forward" : "forward_backward";
  return [path, { model_id, seq_id, [`${path}_input`]: toPass(examples, loss), type: path }];
}
