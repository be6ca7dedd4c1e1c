/** What stands where data are not: on their way, none, or wrong. Never a blank page. */
import type { ComponentChildren } from "preact";

interface State {
  title: string;
  children?: ComponentChildren;
  /** It is all that the page shows, so its title is the page's. */
  page?: boolean;
}

/** Something is wrong, with what and, where known, what to do. */
export function Problem({ title, detail, children, page }: State & { detail?: string }) {
  const Title = page ? "h1" : "h2";
  return (
    <section class="state problem" role="alert">
      <Title>{title}</Title>
      {detail && <pre class="wrap">{detail}</pre>}
      {children}
    </section>
  );
}

/** There is nothing to show yet, with what would make something. */
export function Nothing({ title, children, page }: State) {
  const Title = page ? "h1" : "h2";
  return (
    <section class="state">
      <Title>{title}</Title>
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
