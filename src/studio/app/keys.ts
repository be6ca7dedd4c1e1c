/**
 * The keyboard: every action has a key, and `?` lists those that work here. Keys are written as people say them: `j`,
 * `shift+j`, `g r` (one after the other), `escape`. While the user types into a field only `escape` is ours.
 */
import { signal } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

export interface KeyBinding {
  keys: string;
  does: string;
  run(): void;
}

type Group = RefObject<readonly KeyBinding[]>;

const groups = signal<readonly Group[]>([]);

/** Everything that works at the moment, in the order it was added; of two with one key the newer one. */
export function activeKeys(): KeyBinding[] {
  const all = groups.value.flatMap(({ current }) => current ?? []);
  return [...new Map(all.map((binding) => [binding.keys, binding])).values()];
}

/**
 * Makes keys work while a component is there, as it was drawn last: a key right after another one finds what that one did.
 * Those of the whole app come first: a screen may give a key its own meaning.
 */
export function useKeys(bindings: readonly KeyBinding[], ofApp = false): void {
  const group: Group = useRef(bindings);
  useLayoutEffect(() => {
    group.current = bindings;
  });
  useLayoutEffect(() => {
    groups.value = ofApp ? [group, ...groups.peek()] : [...groups.peek(), group];
    return () => {
      groups.value = groups.peek().filter((one) => one !== group);
    };
  }, []);
}

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
    const bindings = activeKeys();
    const binding = bindings.find(({ keys }) => keys === wanted);
    if (binding) {
      event.preventDefault();
      binding.run();
    } else if (bindings.some(({ keys }) => keys.startsWith(`${pressed} `))) {
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
