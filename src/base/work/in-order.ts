/** One act after another, in the order in which they were asked for. */

/** Runs an act after all earlier ones have ended, well or badly, and gives its own result. */
export type InOrder = <T>(act: () => Promise<T> | T) => Promise<T>;

/** An empty line of acts. */
export function inOrder(): InOrder {
  let last: Promise<unknown> = Promise.resolve();
  return (act) => {
    const done = last.then(act);
    last = done.catch(() => {});
    return done;
  };
}
