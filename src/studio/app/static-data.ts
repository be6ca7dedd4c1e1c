/**
 * An exported studio: the page's folder holds the answers as scripts (a page from a file may not fetch, but it may load
 * scripts beside it). `data/manifest.js` is loaded before the app and says which answer stands in which file.
 */

/** What the export wrote. */
export interface StaticStudio {
  /** File of each answer by the path that would be asked. */
  answers: Record<string, string>;
  exportedAt: string;
  title: string;
}

declare global {
  var coaStatic: StaticStudio | undefined;
  var coaAnswer: ((path: string, value: unknown) => void) | undefined;
}

/** The export, or undefined with a server behind. */
export const staticStudio = globalThis.coaStatic;

const loaded = new Map<string, unknown>();
globalThis.coaAnswer = (path, value) => loaded.set(path, value);

/** The answer that the export holds for a path. */
export async function staticAnswer(path: string): Promise<unknown> {
  const file = staticStudio?.answers[path];
  if (file === undefined) throw new Error("this is not part of the export");
  if (!loaded.has(path)) {
    await new Promise<void>((resolve, reject) => {
      const script = document.createElement("script");
      script.src = `./data/${file}`;
      script.onload = () => resolve();
      script.onerror = () => reject(new Error(`data/${file} is missing from the export`));
      document.head.append(script);
    });
  }
  return loaded.get(path);
}
