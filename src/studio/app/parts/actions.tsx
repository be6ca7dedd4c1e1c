/** Every action that works here, with its key: `?` or `.` opens the list, which narrows as one types. */
import { useRef, useState } from "preact/hooks";
import { activeKeys, type KeyBinding, useKeys } from "../keys.ts";
import { Button } from "./button.tsx";

export function Actions() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [words, setWords] = useState("");
  const open = () => {
    setWords("");
    dialog.current?.showModal();
  };
  useKeys(
    [
      { keys: "?", does: "Show these keys", run: open },
      { keys: ".", does: "Find an action by name", run: open },
    ],
    true,
  );
  const wanted = words.toLowerCase();
  const found = activeKeys().filter(({ does }) => does.toLowerCase().includes(wanted));
  const run = (binding: KeyBinding | undefined) => {
    dialog.current?.close();
    binding?.run();
  };
  return (
    <>
      <Button text="keys" quiet onClick={open} />
      <dialog ref={dialog} class="actions" aria-label="Actions and their keys">
        <form
          method="dialog"
          onSubmit={(event) => {
            event.preventDefault();
            run(found[0]);
          }}
        >
          <input
            type="text"
            aria-label="Name of an action"
            placeholder="What do you want to do?"
            value={words}
            onInput={(event) => setWords(event.currentTarget.value)}
          />
          <ul class="plain">
            {found.map((binding) => (
              <li>
                <button type="button" class="quiet" onClick={() => run(binding)}>
                  <span class="keys">
                    {binding.keys.split(" ").map((key) => (
                      <kbd>{key}</kbd>
                    ))}
                  </span>
                  {binding.does}
                </button>
              </li>
            ))}
          </ul>
        </form>
      </dialog>
    </>
  );
}
