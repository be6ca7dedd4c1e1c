/** Lists under a name: the built-in ones and those that people saved. */
import { useRef, useState } from "preact/hooks";
import type { SavedView } from "../../api/views-routes.ts";
import { useKeys } from "../keys.ts";
import { place } from "../router.ts";
import { post, useResource } from "../server.ts";

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
  const dialog = useRef<HTMLDialogElement>(null);
  const own = (changed ?? data ?? []).filter(({ address }) => address.split("?")[0] === path);
  const shown = new URLSearchParams(query);
  shown.delete("row");
  const address = shown.size === 0 ? path : `${path}?${shown}`;
  useKeys([{ keys: "shift+s", does: "Save this view", run: () => dialog.current?.showModal() }]);
  const change = async (path: string, view: SavedView) => setChanged(await (await post(path, view)).json());
  const save = async (event: Event) => {
    event.preventDefault();
    const name = dialog.current!.querySelector("input")!.value.trim();
    if (name !== "") await change("views", { name, address });
    dialog.current!.close();
  };
  return (
    <nav class="views chips" aria-label="Views">
      {[...(builtIn[path] ?? []), ...own].map((view) => (
        <span class={own.includes(view) ? "own" : ""}>
          <a
            class="chip hue-none"
            href={`#${view.address}`}
            aria-current={view.address === address ? "true" : undefined}
            dir="auto"
          >
            {view.name}
          </a>
          {own.includes(view) && (
            <button
              type="button"
              class="quiet"
              aria-label={`Forget the view ${view.name}`}
              onClick={() => void change("views/remove", view)}
            >
              ×
            </button>
          )}
        </span>
      ))}
      <button type="button" class="quiet" onClick={() => dialog.current?.showModal()}>
        save view
      </button>
      <dialog ref={dialog} aria-label="Save this view">
        <form method="dialog" onSubmit={save}>
          <label>
            Name of the view <input type="text" maxLength={80} />
          </label>{" "}
          <button type="submit" class="primary">
            Save
          </button>
        </form>
      </dialog>
    </nav>
  );
}
