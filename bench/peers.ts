/**
 * Our servers and exports against the newest releases of other people's programs: the tests that name them, run with what is
 * released today. Writes `docs/compatibility.md`. Never part of CI: others' releases must not turn our tests red.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Figure } from "../scripts/bench.ts";
import { type Installed, llamaServer, npmPeer, pythonPeer } from "./peers/newest.ts";
import { runTests } from "./peers/run-tests.ts";

const root = join(import.meta.dirname, "..");

interface Peer {
  name: string;
  install(): Installed;
  /** What is tried. */
  what: string;
  /** Files of tests, which of their tests, and the variables that name the peer. */
  file: string;
  tests: RegExp;
  env?(at: string): Record<string, string>;
}

const npm = (name: string, tests: RegExp, what: string, more: string[] = []): Peer => ({
  name: `${name} (npm)`,
  install: () => npmPeer([name, ...more]),
  what,
  file: "test/clients/serve-clients.long.test.ts",
  tests,
});
const trainer = (name: string, file: string, what: string): Peer => ({
  name,
  install: () => pythonPeer("tinker", name),
  what,
  file,
  tests: /./,
  env: (at) => ({ COA_TEST_TINKER_PYTHON: at }),
});
const client = (name: string): Peer => ({
  name: `${name} (PyPI)`,
  install: () => pythonPeer("tinker", name),
  what: "`coa serve`: whole answers, streams, stored and background responses, refusals",
  file: "test/clients/python-clients.long.test.ts",
  tests: new RegExp(`^Python clients ${name}`),
  env: (at) => ({ COA_TEST_CLIENTS_PYTHON: at }),
});
const torch = (name: string, tests: RegExp, what: string): Peer => ({
  name,
  install: () => pythonPeer("torch", name),
  what,
  file: "test/peft-transformers.long.test.ts",
  tests,
  env: (at) => ({ COA_TEST_PYTHON: at }),
});

const aiSdk = ["@ai-sdk/openai", "@ai-sdk/openai-compatible", "@ai-sdk/anthropic", "@anthropic-ai/sdk", "openai"];
const peers: readonly Peer[] = [
  trainer("tinker", "test/engine/tinker-python.long.test.ts", "`coa serve trainer`: trains, saves and samples"),
  trainer("tinker-cookbook", "test/engine/tinker-cookbook.long.test.ts", "`coa serve trainer`: its supervised recipe"),
  torch("transformers", /shipped model/, "a saved model: its chains, turn by turn, token for token"),
  torch("peft", /PEFT/, "a saved adapter, also one that a server left without names"),
  {
    name: "trl",
    install: () => pythonPeer("torch", "trl"),
    what: "the first SFT loss on SmolLM2 and chains as we export them",
    file: "test/trl-sft.long.test.ts",
    tests: /./,
    env: (at) => ({ COA_TEST_TRL_PYTHON: at }),
  },
  {
    name: "xllamacpp",
    install: () => pythonPeer("torch", "xllamacpp"),
    what: "llama.cpp's server over our GGUF file, as the model of `coa eval run`",
    file: "test/llama-server.long.test.ts",
    tests: /./,
    env: (at) => ({ COA_TEST_LLAMA_SERVER: llamaServer(at) }),
  },
  npm("openai", /^the openai client/, "`coa serve`: chat completions, responses, refusals"),
  client("openai"),
  npm("@anthropic-ai/sdk", /^the Anthropic client reads/, "`coa serve`: messages"),
  client("anthropic"),
  npm("ai", /AI SDK/, "`coa serve`: its OpenAI and Anthropic providers, and the stream of a page", aiSdk),
];

interface Row {
  peer: Peer;
  version: string;
  outcome: string;
  ok: boolean | undefined;
  notes: string;
}

async function tried(peer: Peer): Promise<Row> {
  const installed = peer.install();
  if ("failed" in installed)
    return { peer, version: "", outcome: "not installed", ok: undefined, notes: installed.failed };
  const { at, version } = installed;
  const file = join(peer.env ? root : at, peer.file);
  const { passed, failed, skipped, notes } = await runTests(file, peer.tests, peer.env?.(at) ?? {});
  if (failed.length > 0)
    return { peer, version, outcome: `${failed.length} failed`, ok: false, notes: failed.join("; ") };
  if (passed === 0) return { peer, version, outcome: "not run", ok: undefined, notes: skipped.join("; ") || "no test" };
  return { peer, version, outcome: `${passed} passed`, ok: true, notes: notes.join("; ") };
}

const cell = (text: string) => text.replaceAll("|", "\\|").replace(/\s+/g, " ").slice(0, 300);

function page(rows: readonly Row[]): string {
  const day = new Date().toISOString().slice(0, 10);
  const lines = rows.map(
    ({ peer, version, outcome, notes }) =>
      `| ${peer.name} | ${version} | ${peer.what} | \`${peer.file}\` | ${outcome} | ${cell(notes)} |`,
  );
  return `# Compatibility

Our servers and exports against the newest releases of other people's programs, on ${day}. This page is written by
\`npm run bench -- peers\`, which a scheduled workflow runs every week; it is no part of the tests that a change must pass.
A peer that could not be installed is named as such.

| peer | version | what was tried | test | outcome | measured, or why not |
| --- | --- | --- | --- | --- | --- |
${lines.join("\n")}

Not tried here: SkyRL's server, which has a test of its own that needs its address
(\`COA_TEST_SKYRL_URL\`, [how to start it](guide/scale.md)).
`;
}

export default async function bench(): Promise<Figure[]> {
  const rows: Row[] = [];
  for (const peer of peers) {
    console.error(`${peer.name}…`);
    const row = await tried(peer);
    console.error(`${peer.name} ${row.version}: ${row.outcome} ${row.notes}`);
    rows.push(row);
  }
  writeFileSync(join(root, "docs/compatibility.md"), page(rows));
  return rows.map(({ peer, version, outcome, ok }) => ({
    name: `${peer.name} ${version}`,
    value: Number.parseInt(outcome, 10) || 0,
    unit: outcome.replace(/^\d+ /, ""),
    ...(ok !== undefined && { target: "0 failed", met: ok }),
  }));
}
