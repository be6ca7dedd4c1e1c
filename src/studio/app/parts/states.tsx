/** What stands where data are not: on their way, none, or wrong. Never a blank page. */
import type { ComponentChildren } from "preact";
import type { Resource } from "../server.ts";

interface State {
  title: string;
  children?: ComponentChildren;
  /** It is all that the page shows, so its title is the page's. */
  page?: boolean;
}

/** Something is wrong, with what and, where known, what to do. */
export function Problem({ title, detail, children, page }: State & { detail?: string }) {
  return (
    <section class="state panel problem" role="alert">
      {page ? <h1>{title}</h1> : <h2>{title}</h2>}
      {detail && <pre class="wrap">{detail}</pre>}
      {children}
    </section>
  );
}

/** There is nothing to show yet, with the command that would make something, and what it does. */
export function Nothing({ title, command, children, page }: State & { command: string }) {
  return (
    <section class="state panel">
      {page ? <h1>{title}</h1> : <h2>{title}</h2>}
      <p>
        <code>{command}</code> {children}
      </p>
    </section>
  );
}

/** The data of a page are on their way, or can't be shown. */
export function Missing({ of: { error }, what, page }: { of: Resource<unknown>; what: string; page?: boolean }) {
  if (error)
    return <Problem page={page} title={`${what[0]!.toUpperCase()}${what.slice(1)} can't be shown`} detail={error} />;
  return (
    <p class="state soft" role="status">
      Loading {what}…
    </p>
  );
}
