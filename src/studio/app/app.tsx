/** The frame around every screen: navigation, search, help; and the screen that the address names. */
import { useEffect, useErrorBoundary, useRef, useState } from "preact/hooks";
import { percent } from "../../report/format-figures.ts";
import { activeKeys, useKeys } from "./keys.ts";
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
        <Keys />
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

/** Every key that works here, with what it does. */
function Keys() {
  const dialog = useRef<HTMLDialogElement>(null);
  const open = () => dialog.current?.showModal();
  useKeys([{ keys: "?", does: "Show these keys", run: open }], true);
  return (
    <>
      <Button text="keys" quiet onClick={open} />
      <dialog ref={dialog} class="actions" aria-label="Keys and what they do">
        <ul class="plain">
          {activeKeys().map(({ keys, does }) => (
            <li class="cells">
              <span class="keys">
                {keys.split(" ").map((key) => (
                  <kbd>{key}</kbd>
                ))}
              </span>
              {does}
            </li>
          ))}
        </ul>
        <Button text="Close" keys="escape" onClick={() => dialog.current?.close()} />
      </dialog>
    </>
  );
}
