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

/** The names of options that are checked at run time, made from the types (`checkOptions`). */
const namesFile = "src/base/work/option-names.json";

/**
 * The functions that users of JavaScript call first, which of their parameters their options are, and which of those have options
 * themselves.
 */
const checkedFunctions: Record<string, readonly [at: number, ...parts: string[]]> = {
  runChain: [1, "limits", "sampling", "compaction"],
  streamChain: [1, "limits", "sampling", "compaction"],
  runChains: [1, "limits", "sampling", "compaction"],
  openaiCompatible: [0],
  openEmbeddedEngine: [0],
  openTinkerEngine: [0, "lora", "prices"],
  chooseSandbox: [0, "limits"],
  runTeam: [1, "budget"],
  runTeams: [1, "budget", "totalBudget"],
  startProxy: [0, "access", "budget", "budget.perRun", "budget.total"],
  distill: [1],
  distillRun: [1],
  buildDataset: [1],
  exportDataset: [1],
  trainSft: [0, "schedule", "optimizer", "evaluation"],
  trainRl: [0, "schedule", "optimizer", "loss", "collect", "updates", "keep", "credit"],
  runEvaluation: [2],
  chainSystem: [0, "limits", "sampling", "compaction"],
  chainHandler: [0, "access"],
  serve: [1],
};

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
  /** The text of `namesFile`. */
  optionNames: string;
  /** The comments of public names and their fields. */
  comments: (readonly [name: string, text: string])[];
}

let read: PublicApi | undefined;

/** The public surface, read once. */
export function publicApi(): PublicApi {
  read ??= emitAndRead();
  return read;
}

/** The public surface of declarations that are changed on their way, for tests. */
export function emitAndRead(changed: (file: string, text: string) => string = (_, text) => text): PublicApi {
  // Kept between checks: tsc then writes what has changed alone.
  const folder = join(root, "node_modules", ".cache", "coa", "declarations");
  const kept = ["--incremental", "--tsBuildInfoFile", `${folder}.tsbuildinfo`];
  const args = [
    "-p",
    "tsconfig.build.json",
    "--emitDeclarationOnly",
    "--stripInternal",
    "false",
    "--outDir",
    folder,
    ...kept,
  ];
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
  return readSurface(folder, entries, changed);
}

function readSurface(
  folder: string,
  entries: readonly { entry: string; file: string }[],
  changed: (file: string, text: string) => string,
): PublicApi {
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
  host.readFile = (file) => libraries.get(file) ?? changed(file, readFile(file) ?? "");
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
  const listed = entries.map(({ entry, file }) => {
    const module = checker.getSymbolAtLocation(program.getSourceFile(file)!);
    const symbols = module ? checker.getExportsOfModule(module) : [];
    for (const symbol of symbols) {
      exported.add(resolve(symbol));
      names.add(symbol.name);
    }
    return { entry, symbols };
  });
  // A record that another one holds stands there by its name; longer ones first, as they hold the shorter ones.
  const written = [...exported]
    .filter(({ flags }) => flags & ts.SymbolFlags.TypeAlias)
    .map((symbol) => [symbol.name, textOf(checker, checker.getDeclaredTypeOfSymbol(symbol))] as const)
    .filter(([, text]) => text.startsWith("{ "))
    .toSorted((a, b) => b[1].length - a[1].length);
  const named = (text: string): string =>
    written.reduce((shorter, [name, whole]) => shorter.replaceAll(whole, name), text);
  const reports = new Map(
    listed.map(({ entry, symbols }) => {
      const lines = symbols.map((symbol) => describe(checker, symbol.name, resolve(symbol), named));
      return [
        `${entry === "." ? "index" : entry.slice(2)}.txt`,
        `${[`# chain-of-agents${entry.slice(1)}`, ...lines.toSorted()].join("\n\n")}\n`,
      ];
    }),
  );

  const forgotten = new Set<string>();
  const mentioned = new Set<ts.Symbol>();
  const seen = new Set<ts.Symbol>();
  const visit = (symbol: ts.Symbol): void => {
    if (seen.has(symbol)) return;
    seen.add(symbol);
    for (const node of symbol.declarations ?? []) walk(node, symbol);
  };
  const walk = (node: ts.Node, from: ts.Symbol): void => {
    if (isInternal(node)) return;
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
  const optionNames = Object.fromEntries(
    Object.entries(checkedFunctions).map(([name, [at, ...parts]]) => {
      const symbol = [...exported].find((one) => one.name === name);
      if (!symbol) throw new Error(`${name} is not public: its options need no check`);
      const types = checker
        .getTypeOfSymbol(symbol)
        .getCallSignatures()
        .map(({ parameters }) => checker.getTypeOfSymbol(parameters[at]!));
      const named = (path: readonly string[], of: readonly ts.Type[] = types): string => {
        const all = of.map((type) => checker.getNonNullableType(type)).flatMap((type) => (type.isUnion() ? type.types : [type])); // biome-ignore format: one list
        const fields = new Map(
          all.flatMap((type) => checker.getPropertiesOfType(type).map((field) => [field.name, field])),
        );
        if (path.length === 0) return [...fields.keys()].toSorted().join(" ");
        return named(path.slice(1), [checker.getTypeOfSymbol(fields.get(path[0]!)!)]);
      };
      return [
        name,
        Object.fromEntries(["", ...parts].map((part) => [part, named(part === "" ? [] : part.split("."))])),
      ];
    }),
  );
  const comments = [...exported].flatMap(({ name, declarations = [] }) =>
    declarations
      .flatMap((node) => node.getFullText().match(/\/\*\*[\s\S]*?\*\//g) ?? [])
      .filter((comment) => !comment.includes("@internal"))
      .map((comment) => [`comment of ${name}`, comment.replaceAll(/^\/\*\*|\*\/$|^\s*\*/gm, "").trim()] as const),
  );
  return {
    reports,
    comments,
    names: names.size,
    forgotten: [...forgotten].toSorted(),
    idle: idle.toSorted(),
    optionNames: `${JSON.stringify(optionNames, null, 2)}\n`,
  };
}

/** Whether users can't see it: the build leaves it out. */
function isInternal(node: ts.Node): boolean {
  return ts.getJSDocTags(node).some(({ tagName }) => tagName.text === "internal");
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

function textOf(checker: ts.TypeChecker, type: ts.Type, node?: ts.Node): string {
  const format = ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.InTypeAlias;
  return checker.typeToString(type, node, format).replaceAll(/import\("[^"]*"\)\./g, "");
}

/** A name with its type: a signature on one line, or the fields on a line each, as they are declared. */
function describe(checker: ts.TypeChecker, name: string, symbol: ts.Symbol, named: (text: string) => string): string {
  const node = symbol.declarations?.[0];
  if (!node) throw new Error(`${name} is exported and declared nowhere`);
  const asWritten = (field: ts.Symbol): string | undefined => {
    const own = field.valueDeclaration;
    const declared = own && (ts.isPropertySignature(own) || ts.isPropertyDeclaration(own)) ? own.type : undefined;
    const ours = own && !own.getSourceFile().fileName.includes("node_modules/zod");
    return declared && ours
      ? declared
          .getText()
          .replaceAll(/\/\*[\s\S]*?\*\//g, "")
          .replaceAll(/\s+/g, " ")
      : undefined;
  };
  const fields = (type: ts.Type): string[] =>
    checker
      .getPropertiesOfType(type)
      .filter(({ declarations = [] }) => !declarations.some(isInternal))
      .map((field) => {
        const optional = field.flags & ts.SymbolFlags.Optional ? "?" : "";
        const own = ts.isIdentifier(node) ? node : (field.valueDeclaration ?? node);
        const text = asWritten(field) ?? named(textOf(checker, checker.getTypeOfSymbolAtLocation(field, own), node));
        return `  ${field.name}${optional}: ${text}`;
      })
      .toSorted();
  if (symbol.flags & (ts.SymbolFlags.Interface | ts.SymbolFlags.TypeAlias)) {
    const type = checker.getDeclaredTypeOfSymbol(symbol);
    const calls = type.getCallSignatures();
    // A union, a function or a map is what it is; the fields of a record stand on a line each.
    if (type.isUnion() || !(type.flags & ts.TypeFlags.Object) || calls.length > 0 || checker.isArrayLikeType(type))
      return `type ${name} = ${
        ts.isTypeAliasDeclaration(node)
          ? node.type
              .getText()
              .replaceAll(/\/\*[\s\S]*?\*\//g, "")
              .replaceAll(/\s+/g, " ")
          : textOf(checker, type, node)
      }`;
    return [`type ${name}`, ...fields(type)].join("\n");
  }
  const type = checker.getTypeOfSymbolAtLocation(symbol, node);
  if (symbol.flags & ts.SymbolFlags.Class)
    return [`class ${name}`, ...fields(checker.getDeclaredTypeOfSymbol(symbol))].join("\n");
  const signatures = type.getCallSignatures().filter(({ declaration }) => !declaration || !isInternal(declaration));
  const format = ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.InTypeAlias;
  if (signatures.length > 0)
    return signatures
      .map((signature) => named(`function ${name}${checker.signatureToString(signature, node, format)}`))
      .join("\n")
      .replaceAll(/import\("[^"]*"\)\./g, "");
  // The fields of a schema are those of its type, which is listed by itself.
  const text = named(textOf(checker, type, node));
  return `const ${name}: ${/^(z\.)?Zod/.test(text) ? "schema" : text}`;
}

/** What differs between the reports and the code, and what the surface lacks or has too much of. */
export function checkPublicApi({ reports, forgotten, idle, optionNames }: PublicApi = publicApi()): string[] {
  const stale = [...reports].filter(([file, text]) => {
    const path = join(root, reportFolder, file);
    return !existsSync(path) || readFileSync(path, "utf8") !== text;
  });
  const gone = globSync("*.txt", { cwd: join(root, reportFolder) }).filter((file) => !reports.has(file));
  if (readFileSync(join(root, namesFile), "utf8") !== optionNames) gone.push(`../../${namesFile}`);
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
    writeFileSync(join(root, namesFile), api.optionNames);
  }
  console.log(`${api.names} public names, ${api.forgotten.length} forgotten, ${api.idle.length} exported for nothing`);
  if (process.argv.includes("--list")) console.log([...api.forgotten, "", ...api.idle].join("\n"));
}
