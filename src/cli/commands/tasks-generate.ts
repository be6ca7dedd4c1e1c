import { existsSync } from "node:fs";
import { openJsonl } from "../../base/files/open-jsonl.ts";
import { readAllJsonl } from "../../base/files/read-jsonl.ts";
import { errorEnding, throwIfUserMustFix } from "../../core/ending.ts";
import { UsageError } from "../../core/errors.ts";
import { type Task, taskSchema } from "../../core/task.ts";
import { generateTasks, type Rejection, type SourceDocument } from "../../tasks/generate-tasks.ts";
import { documentScheme, readCorpus } from "../../tools/local-index/read-corpus.ts";
import { defineCommand, numberOf, onePositional } from "../command.ts";
import { openLedger } from "../spending.ts";
import { openPlayers } from "./team-players.ts";

const examples = ["coa tasks generate docs/", "coa tasks generate documents.jsonl --depth 2 --out tasks.jsonl"];

/** A question needs more around it than a search does. */
const passageWords = 600;

export default defineCommand({
  name: "tasks generate",
  summary:
    "Write tasks from your own documents: atomic questions, deeper ones, merged ones; each checked against the text.",
  arguments: "<folder or file>",
  examples,
  options: {
    docs: { type: "string", valueName: "path", describe: "The documents, as other commands take them" },
    "per-document": { type: "string", default: "2", valueName: "n", describe: "Atomic questions per document" },
    depth: { type: "string", default: "1", valueName: "n", describe: "How many look-ups deeper" },
    width: { type: "string", default: "0.5", valueName: "share", describe: "Share of questions that are also merged" },
    limit: { type: "string", valueName: "n", describe: "Use only the first n documents" },
    count: { type: "string", valueName: "n", describe: "Stop when the file holds this many tasks" },
    "only-new": { type: "boolean", default: false, describe: "Skip documents that already have tasks in the file" },
    out: { type: "string", default: "tasks.jsonl", valueName: "file", describe: "Where tasks are appended" },
  },
  reads: ["model", "team", "spending"],
  hides: ["temperature", "topology"],
  async run({ values, settings, positionals, out, signal }) {
    const given = values.docs === undefined ? positionals : [values.docs, ...positionals];
    const path = onePositional(this, given, "a folder or file of documents");
    const onProblem = (problem: string) => out.note(`skipped: ${problem}`);
    const documents: SourceDocument[] = [];
    for await (const { id, title, text, url } of readCorpus(path, { passageWords, onProblem })) {
      signal.throwIfAborted();
      documents.push({ id: url?.startsWith(documentScheme) ? `${url}#${documents.length}` : id, title, text });
    }
    if (documents.length === 0) throw new UsageError(`${path} holds no documents`);
    const limit = numberOf(values.limit, "limit", { min: 1, integer: true });
    const known = existsSync(values.out) ? await readAllJsonl(values.out, taskSchema) : [];
    const used = new Set(values["only-new"] ? known.flatMap(({ documents = [] }) => documents) : []);
    const most = numberOf(values.count, "count", { min: 1, integer: true }) ?? Number.POSITIVE_INFINITY;
    const ledger = await openLedger(settings.spending);
    const players = openPlayers(settings, ledger);
    const tasks = await openJsonl<Task>(values.out);
    const rejected = new Map<string, number>();
    let made = 0;
    try {
      const options = {
        model: players.roles["default"]!,
        perDocument: numberOf(values["per-document"], "per-document", { min: 1, integer: true }),
        depth: numberOf(values.depth, "depth", { min: 0, integer: true }),
        width: numberOf(values.width, "width", { min: 0, max: 1 }),
        known: known.map(({ id }) => id),
        signal,
        onProgress: out.progress,
        onRejected: ({ reason }: Rejection) => void rejected.set(reason, (rejected.get(reason) ?? 0) + 1),
      };
      const wanted = documents.slice(0, limit).filter(({ id }) => !used.has(id));
      if (known.length < most)
        for await (const task of generateTasks(wanted, options)) {
          await tasks.append(task);
          if (known.length + ++made >= most) break;
        }
    } catch (error) {
      if (!signal.aborted) throwIfUserMustFix(errorEnding(error));
      throw error;
    } finally {
      await tasks.close();
      await players.close();
      await ledger.close();
    }
    out.endProgress();
    if (values.json) out.json({ file: values.out, tasks: made, rejected: Object.fromEntries(rejected) });
    else {
      out.print(`${made} tasks in ${values.out}`);
      for (const [reason, count] of rejected) out.print(`thrown away ${count}: ${reason}`);
      if (made + known.length > 0) out.note(`next: coa team run ${values.out} --docs ${path} --out runs.jsonl`);
    }
    if (made + known.length > 0) return 0;
    out.note("no question was good enough: give documents with more facts, or a stronger model (--model)");
    return 1;
  },
});
