/** Lists under a name: the built-in ones and those that people saved. */
import { useState } from "preact/hooks";
import type { SavedView } from "../../api/views-routes.ts";
import { useKeys } from "../keys.ts";
import { place } from "../router.ts";
import { post, useResource } from "../server.ts";
import { Button } from "./button.tsx";

const builtIn: Record<string, SavedView[]> = {
  "/chains": [
    { name: "all", address: "/chains" },
    { name: "wrong", address: "/chains?reward=0" },
    { name: "no answer", address: "/chains?ending=limit&ending=no-answer&ending=error" },
    { name: "longest", address: "/chains?sort=-tokens" },
  ],
  "/runs": [
    { name: "all", address: "/runs" },
    { name: "no answer", address: "/runs?ending=limit&ending=no-answer&ending=error" },
    { name: "dearest", address: "/runs?sort=-tokens" },
  ],
};

export function SavedViews() {
  const { path, query } = place.value;
  const { data } = useResource<SavedView[]>("views");
  const [changed, setChanged] = useState<SavedView[] | undefined>();
  const own = (changed ?? data ?? []).filter(({ address }) => address.split("?")[0] === path);
  const shown = new URLSearchParams(query);
  shown.delete("row");
  const address = shown.size === 0 ? path : `${path}?${shown}`;
  const change = async (path: string, view: SavedView) => setChanged(await (await post(path, view)).json());
  const save = () => {
    const name = prompt("Name of the view")?.trim().slice(0, 80);
    if (name) void change("views", { name, address });
  };
  useKeys([{ keys: "shift+s", does: "Save this view", run: save }]);
  return (
    <nav class="views chips" aria-label="Views">
      {[...(builtIn[path] ?? []), ...own].map((view) => {
        const { name } = view;
        const remove = () => void change("views/remove", view);
        return (
          <span dir="auto" class={own.includes(view) ? "own" : ""}>
            <a class="chip hue-none" href={`#${view.address}`} aria-current={view.address === address && "true"}>
              {name}
            </a>
            {own.includes(view) && <Button text="×" quiet label={`Forget the view ${name}`} onClick={remove} />}
          </span>
        );
      })}
      <Button text="save view" quiet onClick={save} />
    </nav>
  );
}
