/** What stands where data are not: on their way, none, or wrong. Never a blank page. */
import type { ComponentChildren } from "preact";

/** Something is wrong, with what and, where known, what to do. */
export function Problem({ title, detail, children }: { title: string; detail?: string; children?: ComponentChildren }) {
  return (
    <section class="state problem" role="alert">
      <h2>{title}</h2>
      {detail && <pre class="wrap">{detail}</pre>}
      {children}
    </section>
  );
}

/** There is nothing to show yet, with what would make something. */
export function Nothing({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <section class="state">
      <h2>{title}</h2>
      {children}
    </section>
  );
}

/** Data are on their way. */
export function Loading({ what }: { what: string }) {
  return (
    <p class="state soft" role="status">
      Loading {what}…
    </p>
  );
}
