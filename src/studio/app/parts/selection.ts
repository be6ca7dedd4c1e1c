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

/** The cursor of a name in a list of that length; a move changes more of the address where `also` says so. */
export function cursor(name: string, total = 0, also: Record<string, undefined> = {}) {
  const now = () => Number(place.value.query.get(name) ?? -1);
  const to = (place: number) => {
    if (total > 0) setQuery({ [name]: Math.max(0, Math.min(total - 1, place)), ...also });
  };
  return {
    /** The number as the address has it; -1 where nothing is selected. */
    at: now(),
    /** Moves within the list; from the address as it is then, so that two quick keys are two steps. */
    move: (by: number) => to(now() + by),
    /** Selects one; the first or the last where there is none with that number. */
    to,
  };
}
