/** What the parts of a running command share: where notes go, when to stop, and what is closed when the command ends. */
export interface Session {
  /** Writes a sentence for the person, on stderr. */
  note(text: string): void;
  /** Aborted on Ctrl-C: finish the record under way and return. */
  readonly signal: AbortSignal;
  /** Closes what was opened when the command ends, however it ends; the last opened is closed first. */
  closeAtEnd<T extends { close(): Promise<unknown> } | undefined>(opened: T): T;
}

/** Runs a command's work, then closes everything; the first error is the one that counts. */
export async function inSession<T>(
  shared: Pick<Session, "note" | "signal">,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const opened: { close(): Promise<unknown> }[] = [];
  const session: Session = {
    ...shared,
    closeAtEnd(one) {
      if (one) opened.push(one);
      return one;
    },
  };
  const [done] = await Promise.allSettled([work(session)]);
  const closed: PromiseSettledResult<unknown>[] = [done];
  for (const one of opened.toReversed()) closed.push(...(await Promise.allSettled([one.close()])));
  const failure = closed.find((result) => result.status === "rejected");
  if (failure) throw failure.reason;
  return (done as PromiseFulfilledResult<T>).value;
}
