/**
 * The keyboard: every action has a key, and `?` lists those that work here. Keys are written as people say them: `j`,
 * `shift+j`, `g r` (one after the other), `escape`. While somebody types into a field only `escape` is ours.
 */
import { signal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";

export interface KeyBinding {
  keys: string;
  /** What it does, in words. */
  does: string;
  run(): void;
}

/** Everything that works at the moment, in the order it was added. */
export const activeKeys = signal<readonly KeyBinding[]>([]);

/**
 * Makes keys work while a component is there. `deps` say when the functions are to be taken again: with the drawing itself, not
 * after the next frame, so that a key pressed right after another one finds what that one did.
 */
export function useKeys(bindings: readonly KeyBinding[], deps: readonly unknown[] = []): void {
  useLayoutEffect(() => {
    activeKeys.value = [...activeKeys.peek(), ...bindings];
    return () => {
      activeKeys.value = activeKeys.peek().filter((binding) => !bindings.includes(binding));
    };
  }, deps);
}

/** Two keys that go to the next and to the previous one. */
export function stepKeys(next: string, previous: string, what: string, move: (by: number) => void): KeyBinding[] {
  return [
    { keys: next, does: `Next ${what}`, run: () => move(1) },
    { keys: previous, does: `Previous ${what}`, run: () => move(-1) },
  ];
}

let pending = "";
let forget: ReturnType<typeof setTimeout> | undefined;

/** Starts listening; called once. */
export function listenToKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    // An open dialog has the keyboard to itself: escape closes it.
    if (document.querySelector("dialog[open]")) return;
    const pressed = nameOf(event);
    if (isTyping(event.target) && pressed !== "escape") return;
    const wanted = pending === "" ? pressed : `${pending} ${pressed}`;
    clearTimeout(forget);
    pending = "";
    // The newest binding wins: a screen may give a key its own meaning.
    const binding = activeKeys.peek().findLast(({ keys }) => keys === wanted);
    if (binding) {
      event.preventDefault();
      binding.run();
    } else if (activeKeys.peek().some(({ keys }) => keys.startsWith(`${pressed} `))) {
      pending = pressed;
      forget = setTimeout(() => (pending = ""), 1_500);
    }
  });
}

function nameOf(event: KeyboardEvent): string {
  const key = event.key.length === 1 ? event.key : event.key.toLowerCase();
  return event.shiftKey && /^[A-Z]$/.test(key) ? `shift+${key.toLowerCase()}` : key;
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.matches("input:not([type=checkbox]):not([type=radio]), textarea, select") || target.isContentEditable)
  );
}
