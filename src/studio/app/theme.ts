/** Light or dark: as the system says, until somebody chooses. */
import { effect, signal } from "@preact/signals";

export type Theme = "auto" | "light" | "dark";
const themes: readonly Theme[] = ["auto", "light", "dark"];
const storageKey = "coa-studio-theme";

/** What was chosen. */
export const theme = signal<Theme>(remembered());

effect(() => {
  document.documentElement.style.colorScheme = theme.value === "auto" ? "" : theme.value;
});

/** Chooses the next one. */
export function nextTheme(): void {
  theme.value = themes[(themes.indexOf(theme.value) + 1) % themes.length]!;
  localStorage.setItem(storageKey, theme.value);
}

function remembered(): Theme {
  const stored = localStorage.getItem(storageKey) as Theme | null;
  return stored && themes.includes(stored) ? stored : "auto";
}
