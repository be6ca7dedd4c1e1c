/** The disk of a Pyodide child is memory: a cap on it. */

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
  open(path: string, flags: number): unknown;
}

const noSpace = 51; // ENOSPC and EOPNOTSUPP, in Emscripten's numbers
const notSupported = 138;

/** Lets at most `limitBytes` be written to what the disk holds now. */
export function capDisk(FS: FileSystem, limitBytes: number): void {
  const { MEMFS } = FS.filesystems;
  const { stream, node: nodes } = MEMFS.ops_table.file;
  const { write } = stream;
  const { setattr } = nodes;

  const bytesBelow = (start: FileNode): number => {
    const node = start.mounted?.root ?? start;
    if (FS.isFile(node.mode)) return node.usedBytes ?? 0;
    if (!FS.isDir(node.mode) || node.mount?.type !== MEMFS) return 0;
    const children = Object.values((node.contents ?? {}) as Record<string, FileNode>);
    return children.reduce((sum, child) => sum + bytesBelow(child), 0);
  };

  const allowed = bytesBelow(FS.root) + limitBytes;
  // Counting every file at every write would be slow, so the count is made only when the sum of all writes is too much.
  let atMost = bytesBelow(FS.root);
  const claim = (bytes: number, end: number): void => {
    atMost += bytes;
    if (atMost > allowed) atMost = bytesBelow(FS.root) + bytes;
    if (end > limitBytes || atMost > allowed) throw new FS.ErrnoError(noSpace);
  };
  stream.write = (file, buffer, offset, length, position, canOwn) => {
    claim(length, position + length);
    return write(file, buffer, offset, length, position, canOwn);
  };
  stream.allocate = () => {
    throw new FS.ErrnoError(notSupported);
  };
  nodes.setattr = (node, change) => {
    if (change.size !== undefined) claim(Math.max(0, change.size - (node.usedBytes ?? 0)), change.size);
    setattr(node, change);
  };
}
