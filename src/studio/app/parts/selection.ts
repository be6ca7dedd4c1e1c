/** Which step or segment of a run is selected: it stands in the address as `at=s:step-7` or `at=seg-3`. */
import type { ChainView } from "../../api/chain-view.ts";
import { place, setQuery } from "../router.ts";

export interface Selection {
  step?: string;
  segment?: number;
}

export function selection(): Selection {
  const at = place.value.query.get("at") ?? "";
  if (/^seg-\d+$/.test(at)) return { segment: Number(at.slice(4)) };
  return at === "" ? {} : { step: at.replace(/^s:/, "") };
}

export function selectedStep(chain: Pick<ChainView, "segments"> | undefined): string | undefined {
  const { step, segment } = selection();
  return step ?? chain?.segments[segment ?? -1]?.from?.step;
}

export function select({ step, segment }: Selection): void {
  setQuery({ at: segment === undefined ? step && `s:${step}` : `seg-${segment}` });
}
