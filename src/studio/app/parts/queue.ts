/** The queue of a review. While the next entry is on its way the last one stays, so that a field keeps what was typed. */
import { useRef } from "preact/hooks";
import type { StudioEvent } from "../../api/open-index.ts";
import type { ReviewView } from "../../api/review-reader.ts";
import { type Resource, useResource } from "../server.ts";

/** The entry at a path, asked for again when `version` changes or files do, among them the annotations. */
export function useQueue(path: string, version: number): Resource<ReviewView> {
  const last = useRef<ReviewView | undefined>(undefined);
  const resource = useResource<ReviewView>(path, isChange, version);
  if (resource.data) last.current = resource.data;
  return resource.error ? resource : { ...resource, data: resource.data ?? last.current };
}

function isChange({ type }: StudioEvent): boolean {
  return type === "file" || type === "idle" || type === "gone";
}
