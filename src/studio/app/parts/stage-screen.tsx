/** A screen over the folders that a stage left: the data of the one that the address names, or of the first. */
import type { ComponentChildren } from "preact";
import { type ResourceOptions, useResource } from "../server.ts";
import { Missing, Nothing } from "./states.tsx";

interface Props<T> {
  /** The kind of file that makes a folder one of the stage. */
  kind: string;
  /** What answers for one folder. */
  reader: string;
  named?: string;
  /** `distillation`, as titles name it. */
  what: string;
  /** The command that would make one, and what it does. */
  command: string;
  does: string;
  live?: ResourceOptions<T>["live"];
  children: (data: T, folders: readonly string[]) => ComponentChildren;
}

export function StageScreen<T>({ kind, reader, named, what, command, does, live, children }: Props<T>) {
  const folders = useFolders(kind);
  const folder = named ?? folders?.[0];
  const shown = useResource<T>(folder === undefined ? undefined : `${reader}?${new URLSearchParams({ folder })}`, {
    live,
  });
  if (folders?.length === 0) {
    return (
      <Nothing page title={`No ${what} yet`} command={command}>
        {does}
      </Nothing>
    );
  }
  if (!shown.data) return <Missing page of={shown} what={`the ${what}`} />;
  return <>{children(shown.data, folders ?? [])}</>;
}

/** Folders with a file of a kind; undefined until they are known. */
export function useFolders(kind: string): readonly string[] | undefined {
  return useResource<string[]>(`folders?kind=${kind}`, { live: ({ type }) => type === "idle" }).data;
}
