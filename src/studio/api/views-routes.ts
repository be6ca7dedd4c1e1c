/**
 * Saved views: names for addresses of lists, kept in the workspace, so that they stay without the browser and the
 * index.
 */
import { join } from "node:path";
import { z } from "zod";
import { readJsonAs } from "../../base/files/read-json.ts";
import { writeJson } from "../../base/files/write-file.ts";
import { type Route, withBody } from "../../base/http/guard.ts";
import { inOrder } from "../../base/work/in-order.ts";
import type { Reader } from "./reader.ts";

const viewSchema = z.object({
  name: z.string().min(1).max(80),
  /** The path and query of the list: `/chains?reward=0`. */
  address: z
    .string()
    .regex(/^\/[a-z]+(\?|$)/)
    .max(2_000),
});
/** A named list. */
export type SavedView = z.infer<typeof viewSchema>;

const mostViews = 200;
const fileIn = (home: string) => join(home, "studio-views.json");

const stored = async (home: string): Promise<SavedView[]> =>
  (await readJsonAs(fileIn(home), z.array(viewSchema), "a list of saved views")) ?? [];

/** `GET /api/views`. */
export const readViews: Reader = (_query, { home }) => stored(home);

/** `POST /api/views` saves a view under its name, `POST /api/views/remove` forgets it. Both answer with all views. */
export function viewRoutes(home: string): Readonly<Record<string, Route>> {
  const inTurn = inOrder(); // views saved at once are all kept
  const change = (apply: (views: SavedView[], view: SavedView) => SavedView[]) =>
    withBody(viewSchema, (view) =>
      inTurn(async () => {
        const views = apply(await stored(home), view).slice(-mostViews);
        await writeJson(fileIn(home), views);
        return views;
      }),
    );
  const without = (views: SavedView[], { name }: SavedView) => views.filter((one) => one.name !== name);
  return {
    "POST /api/views": change((views, view) => [...without(views, view), view]),
    "POST /api/views/remove": change(without),
  };
}
