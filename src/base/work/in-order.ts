/** One act after another: each runs after all earlier ones have ended, well or badly, and gives its own result. */
export function inOrder() {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(act: () => Promise<T> | T): Promise<T> => {
    const done = last.then(act);
    last = done.catch(() => {});
    return done;
  };
}
