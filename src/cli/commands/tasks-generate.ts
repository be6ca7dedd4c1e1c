import { existsSync } from "node:fs";
import { openJsonl } from "../../base/files/open-jsonl.ts";
import { readAllJsonl } from "../../base/files/read-jsonl.ts";
import { errorEnding, throwIfUserMustFix } from "../../core/ending.ts";
import { UsageError } from "../../core/errors.ts";
import type { Task } from "../../core/task.ts";
import { taskSchema } from "../../core/task-schema.ts";
import { generateTasks, type Rejection, type SourceDocument } from "../../tasks/generate-tasks.ts";
import { sampleDocuments } from "../../tasks/sample-documents.ts";
import { documentScheme, readCorpus } from "../../tools/local-index/read-corpus.ts";
import { defineCommand, onePositional } from "../command.ts";
import { text, whole } from "../setting.ts";
import { openLedger } from "../spending.ts";
import { openPlayers } from "./team-players.ts";

/** A question needs more around it than a search does. */
const passageWords = 600;

const passageOf = (id: string) => /#(\d+)$/.exec(id)?.[1] ?? "0";

export default defineCommand({
  summary:
    "Write tasks from your own documents: atomic questions, deeper ones, merged ones; each checked against the text.",
  arguments: "<folder or file>",
  examples: ["coa tasks generate docs/", "coa tasks generate documents.jsonl --set tasks.depth=2 --out tasks.jsonl"],
  options: {
    docs: text("The documents, as other commands take them", { valueName: "path" }),
    limit: whole("Use only n passages, one of every file first", { valueName: "n", group: "limits" }),
    count: whole("Stop when the file holds this many tasks", { valueName: "n", group: "limits" }),
    out: text("Where tasks are appended; documents that have tasks there are skipped", { default: "tasks.jsonl", valueName: "file", group: "output" }),
  }, // biome-ignore format: one flag a line
  reads: ["model", "team", "tasks", "spending"],
  hides: ["temperature", "topology"],
  async run({ values, settings, positionals, out, signal, session }) {
    const given = values.docs === undefined ? positionals : [values.docs, ...positionals];
    const path = onePositional(given, "a folder or file of documents");
    const onProblem = (problem: string) => out.note(`skipped: ${problem}`);
    const documents: SourceDocument[] = [];
    for await (const { id, title, text, url } of readCorpus(path, { passageWords, onProblem })) {
      signal.throwIfAborted();
      // By its place in its file: another file beside it changes no id.
      documents.push({ id: url?.startsWith(documentScheme) ? `${url}#${passageOf(id)}` : id, title, text });
    }
    if (documents.length === 0) throw new UsageError(`${path} holds no documents`);
    const known = existsSync(values.out) ? await readAllJsonl(values.out, taskSchema) : [];
    const used = new Set(known.flatMap(({ documents = [] }) => documents));
    const { count: most = Number.POSITIVE_INFINITY, limit } = values;
    const { perDocument, depth, width } = settings.tasks;
    const ledger = await openLedger(settings.spending, session);
    const players = openPlayers(settings, session, ledger);
    const tasks = session.closeAtEnd(await openJsonl<Task>(values.out));
    const rejected = new Map<string, number>();
    let made = 0;
    try {
      const options = {
        model: players["default"]!,
        perDocument,
        depth,
        width,
        known: known.map(({ id }) => id),
        signal,
        onProgress: out.progress,
        onRejected: ({ reason }: Rejection) => void rejected.set(reason, (rejected.get(reason) ?? 0) + 1),
      };
      const wanted = sampleDocuments(documents, settings.tasks.seed).slice(0, limit);
      if (known.length < most)
        for await (const task of generateTasks(
          wanted.filter(({ id }) => !used.has(id)),
          options,
        )) {
          await tasks.append(task);
          if (known.length + ++made >= most) break;
        }
    } catch (error) {
      if (!signal.aborted) throwIfUserMustFix(errorEnding(error));
      throw error;
    }
    const none = made + known.length === 0;
    if (none) out.note("no question was good enough: give documents with more facts, or a stronger model (--model)");
    return {
      json: { file: values.out, tasks: made, rejected: Object.fromEntries(rejected) },
      text: [`${made} tasks in ${values.out}`, ...[...rejected].map(([why, count]) => `thrown away ${count}: ${why}`)],
      notes: none ? [] : [`next: coa team run ${values.out} --docs ${path} --out runs.jsonl`],
      code: none ? 1 : 0,
    };
  },
});
