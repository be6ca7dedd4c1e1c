/** How large a production install is, in megabytes on the disk: the dependencies that every user gets, and the package itself. */
import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

const blockBytes = 4096;

/** Megabytes of a production install. The built files are counted as the sources are now: both differ by less than a tenth. */
export function installedMegabytes(root: string): number {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean; peer?: boolean }>;
  };
  const installed = Object.entries(packages)
    .filter(([path, { dev, devOptional, peer }]) => path !== "" && !dev && !devOptional && !peer)
    .flatMap(([path]) =>
      globSync("**/*", { cwd: join(root, path), exclude: ["node_modules"] }).map((file) => join(path, file)),
    );
  const { files } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { files: string[] };
  const own = files
    .filter((pattern) => !pattern.startsWith("!"))
    .flatMap((path) => globSync([path, `${path}/**/*`], { cwd: root, exclude: ["dist", "**/*.png"] }));
  const built = globSync("src/**/*.{ts,tsx}", { cwd: root, exclude: ["**/*.test.ts"] });
  const bytes = (paths: readonly string[]): number =>
    paths
      .map((path) => statSync(join(root, path)))
      .reduce((sum, { size }) => sum + Math.ceil(size / blockBytes) * blockBytes, 0);
  // A source file becomes a module and a declaration: one block more.
  return Math.ceil((bytes([...installed, ...own, ...built]) + built.length * blockBytes) / 1e6);
}

if (import.meta.main) console.log(existsSync("package-lock.json") ? installedMegabytes(process.cwd()) : "no lock file");
