/**
 * Whether a promise still holds in production. A share of the requests, chosen by a hash of their id before anything is known
 * of them, also goes to the old system where the model answered; those that went there anyway count as no loss. How often both
 * differ is watched by betting, which may be looked at after every request. Where the evidence is enough, the affected kind of
 * question is no longer trusted.
 */
import { z } from "zod";
import { openJsonl } from "../base/files/open-jsonl.ts";
import { readAllJsonl } from "../base/files/read-jsonl.ts";
import { hashText } from "../base/work/random.ts";
import { watchShare } from "./betting.ts";
import type { Cascade } from "./cascade.ts";

/** One audited request. */
export const auditedSchema = z.object({
  id: z.string(),
  /** The cascade that was in force, by its name. */
  cascade: z.string(),
  at: z.string(),
  kind: z.string(),
  /** The model answered, and the old system says something else; null where that can't be told. */
  differs: z.boolean().nullable(),
  question: z.string().optional(),
  model: z.string().optional(),
  old: z.string().optional(),
});
export type Audited = z.infer<typeof auditedSchema>;

/** A promise that no longer holds, for one kind of question. */
export interface Alert {
  kind: string;
  audited: number;
  differing: number;
  bound: number;
  pValue: number;
}

export interface Audit {
  /** Whether the request of this id is one of the audited; the same for ever. */
  chooses(id: string): boolean;
  /** Whether this kind of question may still be answered by the model. */
  trusts(kind: string): boolean;
  /** Counts one audited request; an alert where it was the one too many. */
  add(audited: Audited): Promise<Alert | undefined>;
  readonly state: { audited: number; differing: number; bound: number; pValue: number; alerts: readonly Alert[] };
  close(): Promise<void>;
}

interface Watched {
  audited: number;
  differing: number;
  evidence: ReturnType<typeof watchShare>;
}

/** Opens the audit of a cascade; with a file it continues from where the last server stopped. */
export async function openAudit(
  { figures, promise }: Cascade,
  options: { name: string; share: number; file?: string },
): Promise<Audit> {
  const { name, share, file } = options;
  const { maxLoss, confidence } = promise;
  const boundOf = (kind: string | null) =>
    Math.max(maxLoss, (kind === null ? figures.all : (figures.kinds[kind] ?? figures.all)).differs.high);
  // Half of the level is for all questions together, half is shared by the kinds; an alert halves what is left for the first.
  const level = (1 - confidence) / 2;
  const kindLevel = level / (Object.keys(figures.kinds).length + 1);
  const alerts: Alert[] = [];
  const kinds = new Map<string, Watched>();
  const watch = (kind: string | null): Watched => ({ audited: 0, differing: 0, evidence: watchShare(boundOf(kind)) });
  let all = watch(null);
  const trusts = (kind: string) => !alerts.some((alert) => alert.kind === kind);

  function raise(kind: string, { audited, differing, evidence }: Watched, of: string | null): Alert {
    const alert = { kind, audited, differing, bound: boundOf(of), pValue: evidence.pValue };
    alerts.push(alert);
    return alert;
  }

  function count({ kind, differs }: Pick<Audited, "kind" | "differs">): Alert | undefined {
    if (differs === null) return undefined;
    const own = kinds.get(kind) ?? watch(kind);
    kinds.set(kind, own);
    for (const watched of [all, own]) {
      watched.audited++;
      watched.differing += Number(differs);
      watched.evidence.add(differs);
    }
    if (trusts(kind) && own.evidence.pValue <= kindLevel) return raise(kind, own, kind);
    if (all.evidence.pValue > level / 2 ** alerts.length) return undefined;
    // The promise is broken as a whole: it is the kind with most evidence against it that is no longer trusted.
    const [worst] = [...kinds]
      .filter(([one]) => trusts(one))
      .sort(([, x], [, y]) => x.evidence.pValue - y.evidence.pValue);
    const raised = worst && raise(worst[0], all, null);
    all = watch(null);
    return raised;
  }

  const before = file === undefined ? [] : await readAllJsonl(file, auditedSchema);
  for (const line of before) if (line.cascade === name) count(line);
  const log = file === undefined ? undefined : await openJsonl<Audited>(file, { lock: false }); // servers of one workspace share it
  return {
    chooses: (id) => hashText(`audit\n${id}`) / 2 ** 32 < share,
    trusts,
    async add(audited) {
      const alert = count(audited);
      await log?.append(audited);
      return alert;
    },
    get state() {
      const { audited, differing, evidence } = all;
      return { audited, differing, bound: boundOf(null), pValue: evidence.pValue, alerts: [...alerts] };
    },
    close: async () => log?.close(),
  };
}
