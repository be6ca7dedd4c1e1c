/** The frame around every screen: navigation, search, help; and the screen that the address names. */
import { useEffect, useErrorBoundary, useRef, useState } from "preact/hooks";
import { percent } from "../../report/format-figures.ts";
import { activeKeys, type KeyBinding, useKeys } from "./keys.ts";
import { Button } from "./parts/button.tsx";
import { Problem } from "./parts/states.tsx";
import { go, href, matchPath, path, place } from "./router.ts";
import { type Screen, screens } from "./screens/index.ts";
import { connected, onEvents } from "./server.ts";

export function App() {
  const found = screenAt(path.value);
  const shortcuts = screens.filter((screen) => screen.key !== undefined);
  useKeys(
    [
      ...shortcuts.map(({ key, title, route }) => ({
        keys: `g ${key}`,
        does: `Go to ${title.toLowerCase()}`,
        run: () => go(route),
      })),
      { keys: "/", does: "Search", run: focusSearch },
      { keys: "escape", does: "Leave a field", run: () => (document.activeElement as HTMLElement | null)?.blur() },
    ],
    true,
  );
  if (found) document.title = `${found.screen.title} · coa studio`;
  return (
    <>
      <button type="button" class="hidden" onClick={() => document.getElementById("main")?.focus()}>
        Skip to content
      </button>
      <header class="top">
        <a class="brand" href={href("/")}>
          coa studio
        </a>
        <nav aria-label="Screens">
          {screens
            .filter((screen) => screen.nav !== undefined)
            .map((screen) => (
              <a href={href(screen.route)} aria-current={isUnder(screen.route) ? "page" : undefined}>
                {screen.nav}
              </a>
            ))}
        </nav>
        <Search />
        <IndexProgress />
        {!connected.value && <span class="offline">not connected</span>}
        <Actions />
      </header>
      <main id="main" tabIndex={-1}>
        {found ? (
          <Shown key={path.value} {...found} />
        ) : (
          <Problem page title="No such page" detail={`There is no screen at ${path.value}.`} />
        )}
      </main>
    </>
  );
}

function Shown({ screen, params }: { screen: Screen; params: Record<string, string> }) {
  const [error, retry] = useErrorBoundary();
  if (error) {
    return (
      <Problem page title="This page could not be drawn" detail={(error as Error).message}>
        <Button text="Try again" onClick={retry} />
      </Problem>
    );
  }
  const Component = screen.show;
  return <Component params={params} />;
}

/** How much of the files is read, as long as it is not all of it. */
function IndexProgress() {
  const [share, setShare] = useState<number | undefined>();
  useEffect(
    () =>
      onEvents((event) => {
        if (event.type === "progress") setShare(event.doneBytes / Math.max(1, event.totalBytes));
        if (event.type === "idle") setShare(undefined);
      }),
    [],
  );
  if (share === undefined) return null;
  return (
    <span class="indexing soft" role="status">
      <progress max={1} value={share} aria-label="Files read" /> reading files {percent(share, 0)}
    </span>
  );
}

function Search() {
  const query = place.value.query.get("q") ?? "";
  const search = (event: Event) => {
    event.preventDefault();
    const field = document.getElementById("search") as HTMLInputElement;
    const q = field.value;
    // The next key is for the list, not for the field.
    field.blur();
    const under = path.value === "/runs" ? "/runs" : "/chains";
    go(under, { q });
  };
  return (
    <search class="search">
      <form onSubmit={search}>
        <input id="search" type="search" placeholder="Search texts  /" aria-label="Search texts" defaultValue={query} />
      </form>
    </search>
  );
}

function focusSearch(): void {
  const field = document.getElementById("search") as HTMLInputElement | null;
  field?.focus();
  field?.select();
}

function screenAt(path: string): { screen: Screen; params: Record<string, string> } | undefined {
  for (const screen of screens) {
    const params = matchPath(screen.route, path);
    if (params) return { screen, params };
  }
  return undefined;
}

function isUnder(route: string): boolean {
  return route === "/" ? path.value === "/" : path.value === route || path.value.startsWith(`${route}/`);
}

/** Every action that works here, with its key: `?` or `.` opens the list, which narrows as one types. */
function Actions() {
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
