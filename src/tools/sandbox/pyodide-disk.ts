/** The disk of a Pyodide child is memory: a cap on it, and a way back to what it held before a program ran. */

interface FileNode {
  name: string;
  mode: number;
  usedBytes?: number;
  contents?: unknown;
  mounted?: { root: FileNode };
  mount?: { type: unknown };
}

type WriteStream = (
  file: { node: FileNode },
  buffer: Uint8Array,
  offset: number,
  length: number,
  position: number,
  canOwn: boolean,
) => number;

/** The part of Emscripten's file system that is used here. */
export interface FileSystem {
  root: FileNode;
  streams: ({ fd: number } | null | undefined)[];
  filesystems: {
    MEMFS: {
      ops_table: {
        file: {
          stream: { write: WriteStream; allocate: () => void };
          node: { setattr(node: FileNode, change: { size?: number }): void };
        };
      };
    };
  };
  ErrnoError: new (code: number) => Error;
  isDir(mode: number): boolean;
  isFile(mode: number): boolean;
  getPath(node: FileNode): string;
  open(path: string, flags: number): unknown;
  close(stream: object): void;
  rmdir(path: string): void;
  unlink(path: string): void;
}

const noSpace = 51; // ENOSPC and EOPNOTSUPP, in Emscripten's numbers
const notSupported = 138;

/** Caps what may be written, remembers what is there now; `reset` goes back to that, or says why it can't. */
export function pyodideDisk(FS: FileSystem, limitBytes: number): { reset(): string } {
  const { MEMFS } = FS.filesystems;
  const { stream, node: nodes } = MEMFS.ops_table.file;
  const { write } = stream;
  const { setattr } = nodes;
  const touched = new Set<FileNode>();

  const walk = (visit: (node: FileNode) => void, start: FileNode = FS.root): void => {
    const node = start.mounted?.root ?? start;
    visit(node);
    if (!FS.isDir(node.mode) || node.mount?.type !== MEMFS) return;
    for (const child of Object.values((node.contents ?? {}) as Record<string, FileNode>)) walk(visit, child);
  };
  const usedBytes = (): number => {
    let bytes = 0;
    walk((node) => {
      if (FS.isFile(node.mode)) bytes += node.usedBytes ?? 0;
    });
    return bytes;
  };

  const baseline = new Map<FileNode, unknown>();
  walk((node) => void baseline.set(node, FS.isFile(node.mode) ? node.contents : undefined));
  const allowed = usedBytes() + limitBytes;
  // Counting every file at every write would be slow, so the count is made only when the sum of all writes is too much.
  let atMost = usedBytes();
  const claim = (bytes: number, end: number): void => {
    atMost += bytes;
    if (atMost > allowed) atMost = usedBytes() + bytes;
    if (end > limitBytes || atMost > allowed) throw new FS.ErrnoError(noSpace);
  };
  stream.write = (file, buffer, offset, length, position, canOwn) => {
    claim(length, position + length);
    touched.add(file.node);
    return write(file, buffer, offset, length, position, canOwn);
  };
  stream.allocate = () => {
    throw new FS.ErrnoError(notSupported);
  };
  nodes.setattr = (node, change) => {
    if (change.size !== undefined) {
      claim(Math.max(0, change.size - (node.usedBytes ?? 0)), change.size);
      touched.add(node);
    }
    setattr(node, change);
  };

  return {
    reset() {
      for (const open of FS.streams) if (open && open.fd > 2) FS.close(open);
      const found = new Set<FileNode>();
      const added: FileNode[] = [];
      walk((node) => {
        if (baseline.has(node)) found.add(node);
        else added.push(node);
      });
      for (const node of added.reverse()) {
        const path = FS.getPath(node);
        if (FS.isDir(node.mode)) FS.rmdir(path);
        else FS.unlink(path);
      }
      for (const [node, contents] of baseline) {
        const changed = touched.has(node) || (FS.isFile(node.mode) && node.contents !== contents);
        if (!found.has(node) || changed) return `the file ${node.name} changed`;
      }
      touched.clear();
      atMost = usedBytes();
      return "";
    },
  };
}
