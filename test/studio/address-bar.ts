/** The address of a page, for tests of the studio's logic without a browser: `location` and `history` as the router uses them. */

/** Puts an address into place. Comes before the first import of the app's router. */
export function openAt(hash: string): void {
  const location = { hash };
  const history = { replaceState: (_state: unknown, _title: string, address: string) => (location.hash = address) };
  Object.assign(globalThis, { location, history, addEventListener: () => {} });
}
