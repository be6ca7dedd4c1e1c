/**
 * `POST /api/annotate` writes one decision. It is about the chain as it was shown: one that has other words by now is
 * refused. An edit is put into the chain and checked against its profile first, and refused with what is wrong and where.
 */
import { z } from "zod";
import { type Handler, readJson, replyJson } from "../../base/http/handler.ts";
import { RefusedRequest } from "../../base/http/request-body.ts";
import { type AnnotationTarget, annotationSchema, chainHash } from "../../core/annotation.ts";
import type { Trajectory, Violation } from "../../core/trajectory.ts";
import { editChain } from "../../language/edit-chain.ts";
import { askedItem, type StudioContext } from "./reader.ts";

const mostBytes = 5_000_000;

/** Why an annotation was not written. */
export interface AnnotationRefusal {
  error: { message: string; problems: Violation[] };
}

/** The route that writes annotations. */
export function annotationRoutes(context: StudioContext): Readonly<Record<string, Handler>> {
  return {
    "POST /api/annotate": async (request, reply) => {
      const given = (await readJson(request, mostBytes)) as Record<string, unknown> | null;
      const { in: file, ...rest } = given ?? {};
      const parsed = annotationSchema.safeParse({ ...rest, version: 1, at: new Date().toISOString() });
      if (!parsed.success) throw new RefusedRequest(400, z.prettifyError(parsed.error));
      const annotation = parsed.data;
      const chain = shownChain(annotation.target, context, typeof file === "string" ? file : undefined);
      const problems =
        annotation.verdict === "edit" ? (editChain(chain, annotation.edits, context.profiles).problems ?? []) : [];
      if (problems.length > 0) {
        const message = problems.map((problem) => `segment ${problem.segment}: ${problem.message}`).join("; ");
        replyJson(reply, 422, { error: { message, problems } } satisfies AnnotationRefusal);
        return;
      }
      await context.annotations.append(annotation);
      replyJson(reply, 200, { annotation });
    },
  };
}

/** The chain that a person looked at; refused where it is gone or has other words. */
function shownChain({ id, hash }: AnnotationTarget, context: StudioContext, file?: string): Trajectory {
  const query = new URLSearchParams({ id, ...(file !== undefined && { in: file }) });
  const { stored } = askedItem(query, context, "chain");
  if (stored.kind !== "chain") throw new RefusedRequest(400, `${id} is not a chain`);
  if (chainHash(stored.chain) !== hash)
    throw new RefusedRequest(409, `${id} has changed since it was shown: load the page again`);
  return stored.chain;
}
