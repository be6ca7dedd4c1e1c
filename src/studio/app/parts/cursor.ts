/** Which one of a list is selected: its number stands in the address. */
import { place, setQuery } from "../router.ts";

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
