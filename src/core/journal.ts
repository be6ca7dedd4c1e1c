/**
 * A journal is where a running stage appends what happened, so that it can resume. A record counts once `append` has
 * resolved: after a crash it will be read back. Stages know only this; `base/files` implements it on JSONL files.
 */
export interface Journal<Record> {
  append(record: Record): Promise<void>;
  read(): AsyncIterable<Record>;
  close(): Promise<void>;
}
