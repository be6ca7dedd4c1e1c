/**
 * The lockfile must serve every platform: npm leaves out optional packages that it can't find for the machine it runs on,
 * and `npm ci` then refuses the file elsewhere. It must also name no host that packages were fetched from.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

interface LockedPackage {
  resolved?: string;
  optionalDependencies?: Record<string, string>;
}

/** Complaints about packages that are promised and not locked, and about hosts. */
export function checkLock(root: string): string[] {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    packages: Record<string, LockedPackage>;
  };
  const locked = new Set(Object.keys(packages).map((path) => path.replace(/^.*node_modules\//, "")));
  return Object.entries(packages).flatMap(([path, entry]) => [
    ...Object.keys(entry.optionalDependencies ?? {})
      .filter((name) => !locked.has(name))
      .map(
        (name) =>
          `package-lock.json: ${name}, which ${path} offers, is missing: make the file anew without node_modules`,
      ),
    ...(entry.resolved ? [`package-lock.json: ${path} names the host it was fetched from`] : []),
  ]);
}
