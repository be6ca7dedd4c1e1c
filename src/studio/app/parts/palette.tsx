/** Every action by its name: `.` opens a list that narrows as one types. */
import { useRef, useState } from "preact/hooks";
import { activeKeys, type KeyBinding, useKeys } from "../keys.ts";

export function Palette() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [words, setWords] = useState("");
  useKeys([
    {
      keys: ".",
      does: "Find an action by name",
      run() {
        setWords("");
        dialog.current?.showModal();
      },
    },
  ]);
  const wanted = words.toLowerCase();
  const found = [...new Map(activeKeys.value.map((binding) => [binding.keys, binding])).values()].filter(
    ({ does, keys }) => keys !== "." && does.toLowerCase().includes(wanted),
  );
  const run = (binding: KeyBinding | undefined) => {
    dialog.current?.close();
    binding?.run();
  };
  return (
    <dialog ref={dialog} class="palette" aria-label="Actions">
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
        <ul>
          {found.map((binding) => (
            <li>
              <button type="button" onClick={() => run(binding)}>
                <span>{binding.does}</span>
                <kbd>{binding.keys}</kbd>
              </button>
            </li>
          ))}
        </ul>
      </form>
    </dialog>
  );
}
