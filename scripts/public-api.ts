/**
 * The public surface, from the declarations that tsc writes. `node scripts/public-api.ts --write` keeps a report per entry point in
 * docs/api/, every type with its fields, so that a changed field is a changed line of the diff; `npm run check` compares. A type that
 * stands in a public signature must be exported, or users can't name it: what is missing is a forgotten export.
 */
import { spawnSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { getLibFiles, getLibFolderPath, ts } from "@ts-morph/common";

const root = join(import.meta.dirname, "..");

/** The folder of the reports, relative to the root. */
export const reportFolder = "docs/api";

/** The public surface of the package. */
export interface PublicApi {
  /** The report of each entry point, by the name of its file. */
  reports: Map<string, string>;
  /** Distinct public names. */
  names: number;
  /** Types that stand in public signatures and can't be imported. */
  forgotten: string[];
  /** Exported types that no exported function, value or type mentions. */
  idle: string[];
}

let read: PublicApi | undefined;

/** The public surface, read once. */
export function publicApi(): PublicApi {
  read ??= emitAndRead();
  return read;
}

function emitAndRead(): PublicApi {
  // Kept between checks: tsc then writes what has changed alone.
  const folder = join(root, "node_modules", ".cache", "coa", "declarations");
  const kept = ["--incremental", "--tsBuildInfoFile", `${folder}.tsbuildinfo`];
  const args = ["-p", "tsconfig.build.json", "--emitDeclarationOnly", "--outDir", folder, ...kept];
  const { status, stdout } = spawnSync(join(root, "node_modules/.bin/tsc"), args, { cwd: root, encoding: "utf8" });
  if (status !== 0) throw new Error(`tsc: ${stdout}`);
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    exports: Record<string, { types?: string } | string>;
  };
  const entries = Object.entries(exports).flatMap(([entry, target]) =>
    typeof target === "string" || !target.types
      ? []
      : [{ entry, file: join(folder, target.types.replace("./dist/", "")) }],
  );
  return readSurface(folder, entries);
}

function readSurface(folder: string, entries: readonly { entry: string; file: string }[]): PublicApi {
  const options = {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    allowImportingTsExtensions: true,
    noEmit: true,
    strict: true,
    target: ts.ScriptTarget.ESNext,
    types: ["node"],
    typeRoots: [join(root, "node_modules", "@types")],
  };
  // The declarations of the language come inside the compiler's package, as text.
  const libraries = new Map(getLibFiles().map(({ fileName, text }) => [`${getLibFolderPath({})}/${fileName}`, text]));
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile } = host;
  host.getDefaultLibLocation = () => getLibFolderPath({});
  host.getDefaultLibFileName = () => `${getLibFolderPath({})}/lib.esnext.d.ts`;
  host.fileExists = (file) => libraries.has(file) || fileExists(file);
  host.readFile = (file) => libraries.get(file) ?? readFile(file);
  const program = ts.createProgram(
    entries.map(({ file }) => file),
    options,
    host,
  );
  const checker = program.getTypeChecker();
  const resolve = (symbol: ts.Symbol): ts.Symbol =>
    symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  const ours = (symbol: ts.Symbol): boolean =>
    symbol.declarations?.some((node) => node.getSourceFile().fileName.startsWith(folder) && isTopLevel(node)) ?? false;

  const exported = new Set<ts.Symbol>();
  const names = new Set<string>();
  const reports = new Map<string, string>();
  for (const { entry, file } of entries) {
    const module = checker.getSymbolAtLocation(program.getSourceFile(file)!);
    const lines = (module ? checker.getExportsOfModule(module) : []).map((symbol) => {
      const target = resolve(symbol);
      exported.add(target);
      names.add(symbol.name);
      return describe(checker, symbol.name, target);
    });
    const title = `# chain-of-agents${entry.slice(1)}`;
    reports.set(
      `${entry === "." ? "index" : entry.slice(2)}.txt`,
      `${[title, ...lines.toSorted()].join("\n\n").replaceAll(/import\("[^"]*"\)\./g, "")}\n`,
    );
  }

  const forgotten = new Set<string>();
  const mentioned = new Set<ts.Symbol>();
  const seen = new Set<ts.Symbol>();
  const visit = (symbol: ts.Symbol): void => {
    if (seen.has(symbol)) return;
    seen.add(symbol);
    for (const node of symbol.declarations ?? []) walk(node, symbol);
  };
  const walk = (node: ts.Node, from: ts.Symbol): void => {
    const name = ts.isTypeReferenceNode(node)
      ? node.typeName
      : ts.isExpressionWithTypeArguments(node)
        ? node.expression
        : ts.isImportTypeNode(node)
          ? node.qualifier
          : undefined;
    const found = name && checker.getSymbolAtLocation(name);
    if (found) {
      const target = resolve(found);
      if (target !== from && ours(target)) {
        mentioned.add(target);
        // The fields of a base stand in the report of what extends it, so that only what they mention needs a name.
        if (!exported.has(target) && !ts.isExpressionWithTypeArguments(node) && !isBase(node))
          forgotten.add(`${target.name} (in ${from.name})`);
        visit(target);
      }
    }
    // What a `typeof` or a mapped type makes is written out in the report; users have no need to name its parts.
    if (!ts.isTypeQueryNode(node) && !ts.isMappedTypeNode(node)) ts.forEachChild(node, (child) => walk(child, from));
  };
  for (const symbol of exported) visit(symbol);
  const idle = [...exported]
    .filter((symbol) => !(symbol.flags & ts.SymbolFlags.Value) && !mentioned.has(symbol))
    .map(({ name }) => name);
  return { reports, names: names.size, forgotten: [...forgotten].toSorted(), idle: idle.toSorted() };
}

/** Whether a type is a part of the intersection that an alias stands for, or of a `Pick` or `Omit` that an interface extends. */
function isBase(node: ts.Node): boolean {
  const { parent } = node;
  if (ts.isTypeReferenceNode(parent) || ts.isExpressionWithTypeArguments(parent))
    return ts.isExpressionWithTypeArguments(parent) || isBase(parent);
  return ts.isIntersectionTypeNode(parent) && (ts.isTypeAliasDeclaration(parent.parent) || isBase(parent));
}

function isTopLevel(node: ts.Node): boolean {
  const holder = ts.isVariableDeclaration(node) ? node.parent.parent.parent : node.parent;
  return holder !== undefined && ts.isSourceFile(holder);
}

/** A name with its type: a signature on one line, or the fields on a line each. */
function describe(checker: ts.TypeChecker, name: string, symbol: ts.Symbol): string {
  const format = ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.InTypeAlias;
  const node = symbol.declarations![0]!;
  const textOf = (type: ts.Type): string => checker.typeToString(type, node, format);
  const fields = (type: ts.Type): string[] =>
    checker
      .getPropertiesOfType(type)
      .map((field) => {
        const optional = field.flags & ts.SymbolFlags.Optional ? "?" : "";
        const own = ts.isIdentifier(node) ? node : (field.valueDeclaration ?? node);
        const text = checker.typeToString(checker.getTypeOfSymbolAtLocation(field, own), node, format);
        return `  ${field.name}${optional}: ${text}`;
      })
      .toSorted();
  if (symbol.flags & (ts.SymbolFlags.Interface | ts.SymbolFlags.TypeAlias)) {
    const type = checker.getDeclaredTypeOfSymbol(symbol);
    const calls = type.getCallSignatures().map((signature) => `  ${checker.signatureToString(signature)}`);
    if (type.isUnion() || !(type.flags & ts.TypeFlags.Object) || calls.length > 0)
      return [`type ${name} = ${textOf(type)}`, ...(type.isUnion() ? [] : fields(type))].join("\n");
    return [`type ${name}`, ...fields(type)].join("\n");
  }
  const type = checker.getTypeOfSymbolAtLocation(symbol, node);
  if (symbol.flags & ts.SymbolFlags.Class)
    return [`class ${name}`, ...fields(checker.getDeclaredTypeOfSymbol(symbol))].join("\n");
  const signatures = type.getCallSignatures();
  if (signatures.length > 0)
    return signatures
      .map((signature) => `function ${name}${checker.signatureToString(signature, node, format)}`)
      .join("\n");
  // The fields of a schema are those of its type, which is listed by itself.
  return `const ${name}: ${/^(z\.)?Zod/.test(textOf(type)) ? "schema" : textOf(type)}`;
}

/** What differs between the reports and the code, and what the surface lacks or has too much of. */
export function checkPublicApi({ reports, forgotten, idle }: PublicApi = publicApi()): string[] {
  const stale = [...reports].filter(([file, text]) => {
    const path = join(root, reportFolder, file);
    return !existsSync(path) || readFileSync(path, "utf8") !== text;
  });
  const gone = globSync("*.txt", { cwd: join(root, reportFolder) }).filter((file) => !reports.has(file));
  const changed = [...stale.map(([file]) => file), ...gone].map((file) => `${reportFolder}/${file} is stale`);
  return [
    ...(changed.length > 0
      ? [...changed, "the public API changed: node scripts/public-api.ts --write, and add it to CHANGELOG.md"]
      : []),
    ...forgotten.map((name) => `forgotten export: ${name}`),
    ...idle.map((name) => `exported for nothing: ${name}`),
  ];
}

if (import.meta.main) {
  const api = publicApi();
  if (process.argv.includes("--write")) {
    rmSync(join(root, reportFolder), { recursive: true, force: true });
    mkdirSync(join(root, reportFolder), { recursive: true });
    for (const [file, text] of api.reports) writeFileSync(join(root, reportFolder, file), text);
  }
  console.log(`${api.names} public names, ${api.forgotten.length} forgotten, ${api.idle.length} exported for nothing`);
  if (process.argv.includes("--list")) console.log([...api.forgotten, "", ...api.idle].join("\n"));
}
