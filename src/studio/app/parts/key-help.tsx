/** The list of keys that work here, opened with `?`. */
import { useRef } from "preact/hooks";
import { activeKeys, useKeys } from "../keys.ts";

export function KeyHelp() {
  const dialog = useRef<HTMLDialogElement>(null);
  const open = () => dialog.current?.showModal();
  useKeys([{ keys: "?", does: "Show these keys", run: open }]);
  const shown = new Map(activeKeys.value.map((binding) => [binding.keys, binding.does]));
  return (
    <>
      <button type="button" class="quiet" onClick={open} title="Keys (?)">
        keys
      </button>
      <dialog ref={dialog} aria-labelledby="keys-title">
        <form method="dialog">
          <h2 id="keys-title">Keys</h2>
          <dl class="keys">
            {[...shown].map(([keys, does]) => (
              <div>
                <dt>
                  {keys.split(" ").map((key) => (
                    <kbd>{key}</kbd>
                  ))}
                </dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
          <button type="submit">Close</button>
        </form>
      </dialog>
    </>
  );
}
