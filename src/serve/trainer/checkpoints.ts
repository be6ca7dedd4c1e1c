/**
 * Saved weights of the training server: folders `<model>/<kind>/<name>` under one root, known to clients as
 * `tinker://<model>/<kind>/<name>`. They stay when the server ends; sessions and models do not.
 */
import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { readJsonIfThere } from "../../base/files/read-json.ts";
import { writeTar } from "../../base/files/tar.ts";
import { writeFolder } from "../../base/files/write-folder.ts";
import { Refusal } from "../../base/http/refusal.ts";

export type CheckpointKind = "weights" | "sampler_weights";

export interface CheckpointNote {
  base_model: string;
  lora_rank: number;
  time: string;
  /** Expiry time; never expires if absent. */
  expires_at?: string;
}

const noteFile = "checkpoint.json";

export type Checkpoints = ReturnType<typeof checkpointStore>;

export function checkpointStore(root: string, now: () => number = Date.now) {
  const safe = (part: string) => {
    if (!/^[\w.-]{1,128}$/.test(part) || part.startsWith(".")) throw new Refusal(422, `"${part}" is not a name`);
    return part;
  };
  const place = (model: string, kind: string, name: string) => join(root, safe(model), safe(kind), safe(name));
  const noteOf = async (folder: string) => {
    const note = (await readJsonIfThere(join(folder, noteFile))) as CheckpointNote | undefined;
    if (note?.expires_at && Date.parse(note.expires_at) <= now()) await rm(folder, { recursive: true, force: true });
    else if (note) return note;
    throw new Refusal(404, "Checkpoint not found");
  };
  const parse = (uri: string) => {
    const [, model, kind = "sampler_weights", name] =
      /^tinker:\/\/([^/]+)\/(?:(weights|sampler_weights)\/)?([^/#]+)/.exec(uri) ?? [];
    if (!model || !name) throw new Refusal(422, `"${uri}" is not an address like tinker://<model>/weights/<name>`);
    return { model, kind, name };
  };
  return {
    /** Writes one, all or nothing; a name that is taken is refused with 409. */
    async save(
      model: string,
      kind: CheckpointKind,
      name: string,
      note: CheckpointNote,
      write: (folder: string) => Promise<void>,
    ): Promise<string> {
      const folder = place(model, kind, name);
      if (await stat(folder).catch(() => null))
        throw new Refusal(409, `Checkpoint '${name}' already exists for model '${model}'`);
      await mkdir(join(root, model, kind), { recursive: true });
      await writeFolder(folder, async (temporary) => {
        await write(temporary);
        await writeFile(join(temporary, noteFile), `${JSON.stringify(note)}\n`);
      });
      return `tinker://${model}/${kind}/${name}`;
    },
    /** The folder and the note behind an address. */
    async find(uri: string): Promise<{ folder: string; note: CheckpointNote }> {
      const { model, kind, name } = parse(uri);
      const folder = place(model, kind, name);
      return { folder, note: await noteOf(folder) };
    },
    async list(
      model: string,
    ): Promise<{ checkpoint_id: string; checkpoint_type: string; tinker_path: string; time: string }[]> {
      const kinds: CheckpointKind[] = ["weights", "sampler_weights"];
      const found = await Promise.all(
        kinds.map(async (kind) => {
          const names = await readdir(join(root, safe(model), kind)).catch(() => []);
          return Promise.all(
            names
              .filter((name) => !name.startsWith("."))
              .map(async (name) => {
                const note = await noteOf(place(model, kind, name)).catch(() => null);
                if (!note) return [];
                return {
                  checkpoint_id: name,
                  checkpoint_type: kind === "weights" ? "training" : "sampler",
                  tinker_path: `tinker://${model}/${kind}/${name}`,
                  time: note.time,
                };
              }),
          );
        }),
      );
      return found.flat(2);
    },
    async remove(model: string, kind: CheckpointKind, name: string): Promise<void> {
      const folder = place(model, kind, name);
      await noteOf(folder);
      await rm(folder, { recursive: true });
    },
    /** A checkpoint for the sampler as tar.gz. */
    async archive(model: string, name: string): Promise<Uint8Array> {
      const folder = place(model, "sampler_weights", name);
      await noteOf(folder);
      const files: Record<string, Uint8Array> = {};
      for (const file of await readdir(folder)) if (file !== noteFile) files[file] = await readFile(join(folder, file));
      return gzipSync(writeTar(files));
    },
  };
}
