/** Says how much of the files is read, as long as it is not all of it. */
import { useEffect, useState } from "preact/hooks";
import { percent } from "../../../report/format-figures.ts";
import { onEvents } from "../server.ts";

export function IndexProgress() {
  const [share, setShare] = useState<number | undefined>();
  useEffect(
    () =>
      onEvents((event) => {
        if (event.type === "progress") setShare(event.doneBytes / Math.max(1, event.totalBytes));
        if (event.type === "idle") setShare(undefined);
      }),
    [],
  );
  if (share === undefined) return null;
  return (
    <span class="indexing soft" role="status">
      <progress max={1} value={share} aria-label="Files read" /> reading files {percent(share, 0)}
    </span>
  );
}
