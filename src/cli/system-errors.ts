/** What the operating system refused, as a sentence that says what to do. */

const sentences: Record<string, (path: string) => string> = {
  EACCES: (path) => `no permission for ${path}: change its rights, or use another folder (--out, COA_HOME)`,
  EPERM: (path) => `no permission for ${path}: change its rights, or use another folder (--out, COA_HOME)`,
  EROFS: (path) => `${path} can't be written, its file system is read-only: use another folder (--out, COA_HOME)`,
  ENOTDIR: (path) => `${path}: a part of this path is a file, not a folder`,
  EISDIR: (path) => `${path} is a folder: name one of the files in it`,
  ENOSPC: (path) => `the disk is full (${path}). Make room and run the same command again: what is done is kept`,
  EDQUOT: (path) => `the quota of the disk is used up (${path}). Make room and run the same command again`,
  EMFILE: (path) => `too many files are open (${path}): raise the limit with ulimit -n`,
};

/** The sentence for an error of the system, or for one that it caused; undefined for any other. */
export function systemErrorText(error: unknown): string | undefined {
  for (let one = error; one instanceof Error; one = one.cause) {
    const { code, path, syscall } = one as NodeJS.ErrnoException;
    const sentence = code === undefined || syscall === undefined ? undefined : sentences[code];
    if (code === "ENOENT" && syscall === "mkdir") return `${path} can't be made: use another folder (--out, COA_HOME)`;
    if (sentence) return sentence(path ?? (code === "EISDIR" ? "what was given" : "a file"));
  }
  return undefined;
}
