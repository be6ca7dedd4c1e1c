/**
 * The settings of a workspace, by section. A command names the sections it reads; of a section's settings, those with a
 * `flag` can be typed, and all can be set in `coa.config.ts` or for one call by `--set section.name=value`.
 */
import { practisedFaults, rlPresets } from "../../train/presets.ts";
import { choice, type Group, list, number, pairs, type Setting, text, toggle, whole } from "../setting.ts";

/** A section: what it is about, where its flags stand in help, its settings. */
function section<const S extends Readonly<Record<string, Setting>>>(describe: string, group: Group, settings: S) {
  return { describe, group, settings };
}

/** What each `--preset` stands for, by the path of every setting that it gives a default. */
function presetSettings(name: keyof typeof rlPresets, more: Record<string, unknown>): Record<string, unknown> {
  const own = Object.entries(rlPresets[name]).map(([setting, value]) => [`train.${setting}`, value]);
  return { ...Object.fromEntries(own), "reward.formatFactor": "strict", ...more };
}

export const presets = {
  verifiable: presetSettings("verifiable", {}),
  faults: presetSettings("faults", { "tools.faults": practisedFaults }),
};

/** Every section, in the order of help and of the documentation. */
// biome-ignore format: one setting a line
export const sections = {
  model: section("The model that answers, and how it is sampled", "model", {
    name: text("A model folder, a model of the workspace or a shipped one by name, or a name on the server; with --base-url a folder or .gguf file of ours tells how the server's model was taught", { flag: "model", valueName: "folder|name", replaces: ["model.baseUrl"] }),
    baseUrl: text("OpenAI-compatible server (default: OPENAI_BASE_URL); openai means the public API", { flag: "base-url", valueName: "url" }),
    mode: choice(["auto", "completions", "continue", "turns"], "How the server continues a chain", { default: "auto" }),
    temperature: number("Sampling temperature", { flag: "temperature", default: 0, min: 0, valueName: "x" }),
    topP: number("Nucleus sampling: share of probability to sample from", { min: 0, max: 1 }),
    topK: whole("Sample among the k likeliest tokens"),
    precision: choice(["f32", "8bit"], "How a model in this process holds its weights: 8bit answers faster, in a third of the memory", { default: "f32" }),
    requestsPerMinute: number("Max model calls started per minute", { min: 0.001 }),
    maxParallelCalls: whole("Max model calls at the same time"),
  }),
  chain: section("How a chain is run", "model", {
    profile: text("Tags and rules: web, mhqa, code, multi, wide, lab, lab-wide, or a module that exports one by default (default: as the model was taught, else web)", { flag: "profile", valueName: "name|file" }),
    lab: number("Work in the made-up lab world of this seed; 7.1 has the names of 7 and other facts", { flag: "lab", min: 0, valueName: "seed", replaces: ["tools.modules", "tools.mcp", "tools.docs", "tools.index", "tools.search", "tools.retrieval", "tools.recorded"] }),
    example: toggle("Show the model a worked example: for models that were not trained for chains"),
    bareQuestion: toggle("Give the model the question without a system prompt", { flag: "bare" }),
    enforcement: choice(["report", "repair"], "How format errors are handled", { default: "repair" }),
    entropies: toggle("Keep the entropy at each token with the chain, for the studio; only models in this process have it"),
  }),
  tools: section("The tools that chains and teams call", "tools", {
    names: list("Which tools, comma-separated (default: all that can be set up)", { flag: "tools", valueName: "names" }),
    docs: text("Your own documents (a folder or a file) to search and read; indexed when they changed", { flag: "docs", valueName: "path", replaces: ["tools.index"] }),
    index: text("A local index (coa index build) for web_search, wiki_search and crawl_page", { flag: "index", valueName: "folder", replaces: ["tools.docs"] }),
    search: text("Search by serper, serpapi, brave, tavily, exa, searxng or index", { flag: "search", valueName: "name" }),
    modules: list("A module that exports your own tools: one, a list, or an object of AI SDK tools", { flag: "tool", valueName: "file" }),
    mcp: list("An MCP server: a command line or an address", { flag: "mcp", valueName: "server" }),
    recorded: text("Tools that answer from these recorded runs; calls that are not in them count as not recorded", { flag: "recorded", valueName: "runs.jsonl" }),
    faults: text("Let a share of the calls fail, to train or test for it: web_search:empty=0.4,timeout=0.1,seed=7", { flag: "tool-faults", valueName: "plan" }),
    block: list("Block a domain or URL, or every entry of a file; benchmarks for the built-in list"),
    allowHosts: list("Private hosts (host[:port]) that may be crawled"),
    results: whole("Results per web search", { default: 10, max: 100 }),
    passages: whole("Passages that POST /retrieve returns by default", { default: 3, max: 1_000 }),
    retrieval: text("A retrieval server (POST /retrieve) for wiki_search"),
    searchCache: text("File that keeps search answers (default: in the workspace)"),
    replaySearches: toggle("Answer searches from the cache alone"),
    robots: toggle("Respect robots.txt"),
    summarisePages: toggle("Let the model at OPENAI_BASE_URL summarise pages for the question"),
    visionModel: text("Vision model for visual_inspector, at OPENAI_BASE_URL (default: COA_VISION_MODEL)"),
    imageFolder: text("Folder that visual_inspector may read images from", { default: "." }),
    rename: pairs("Call a tool by another name, to see what a model makes of it: --set tools.rename.web_search=find"),
  }),
  judge: section("The model that judges answers to open questions", "model", {
    prompt: text("Judge prompt: own, afm, afm-train, hle, browsecomp, simpleqa, webwalker, or a file with {question}, {gold} and {answer} (default: the benchmark's)", { flag: "judge", valueName: "name|file" }),
    model: text("Model that judges answers to open questions", { flag: "judge-model", valueName: "name" }),
    baseUrl: text("The judge's OpenAI-compatible server (default: OPENAI_BASE_URL)", { flag: "judge-url", valueName: "url" }),
  }),
  grader: section("How answers are graded", "model", {
    scoring: choice(["official", "strict"], "The benchmark's own rule, or ours", { default: "official" }),
    judgeAll: toggle("Let the judge decide every task, whatever its own rule"),
    parts: choice(["first", "every", "whole"], "Which part of an answer `a | b` counts (default: first)"),
    allTests: toggle("Run every test of a program, also after one failed"),
  }),
  choose: section("Best of n: how many runs of a task, and which is chosen", "model", {
    bestOf: whole("Run each task n times and choose one answer; all runs are counted", { flag: "best-of", valueName: "n" }),
    by: choice(["judge", "majority"], "How to choose (default: judge if the model chats, else majority)", { needs: "choose.bestOf" }),
    model: text("Model that chooses (default: the one that answers)"),
    baseUrl: text("Its OpenAI-compatible server (default: OPENAI_BASE_URL)"),
  }),
  team: section("The multi-agent team", "model", {
    topology: choice(["agents-as-tools", "handoff", "in-turn"], "How agents share what they read; default by the model's size", { flag: "topology", valueName: "name" }),
    roles: pairs("Another model for one role", { flag: "role", valueName: "role=model" }),
    maxTokens: whole("Max tokens per team run"),
    maxTotalTokens: whole("Start no further run once all have used this many tokens"),
    words: choice(["full", "no-prompts", "terse"], "Length of the scripted lab team's messages; terse: no longer than a chain's", { default: "full" }),
  }),
  record: section("Recordings of other systems, and how much a recorded run may use", "input", {
    folder: text("Where recordings are kept (default: .coa/recordings)", { flag: "folder", valueName: "folder" }),
    maxCalls: whole("Max model calls in all", { min: 0 }),
    maxTokens: whole("Max tokens in all", { min: 0 }),
    maxCallsPerRun: whole("Max model calls per run", { min: 0 }),
    maxTokensPerRun: whole("Max tokens per run", { min: 0 }),
    maxUsdPerRun: number("Max dollars per run (needs --price)", { min: 0 }),
  }),
  distill: section("How runs become chains worth learning from", "input", {
    fill: toggle("Fill in thoughts and checks that the profile wants and the recording lacks (never trained on)", { flag: "fill" }),
    filters: list("Your own filters (a TypeScript module)", { flag: "filter", valueName: "module" }),
    evalQuestions: list("Evaluation questions that must not leak", { flag: "eval", valueName: "file" }),
    layout: choice(["compact", "paper"], "White space around observations (default: the profile's)"),
    toolTags: pairs("Tag for a foreign tool's name: --set distill.toolTags.lookup=web_search"),
    minInteractions: number("Min interactions of a chain (default: 5; 2 with a profile made from the recording)", { min: 0 }),
    keepWithoutReflection: number("Share of chains without reflection to keep", { default: 0.5, min: 0, max: 1 }),
    copies: whole("How often to write chains that correct themselves", { default: 2 }),
    nearDuplicates: number("Similarity above which a chain is a duplicate", { default: 0.95, min: 0 }),
    blockUrls: list("Addresses that a chain must not touch"),
    skip: list("Stages to leave out"),
  }),
  dataset: section("How chains become examples of a dataset, and rows for other trainers", "input", {
    overlong: choice(["drop", "cut"], "What to do with examples over --max-tokens; cut: at a segment border", { default: "drop" }),
    observationRole: choice(["user", "tool"], "Role of observations in exported chats", { default: "user" }),
    excludeTeacher: list("Leave out chains of teachers whose names begin like this", { flag: "exclude-teacher", valueName: "model" }),
    keepBroken: toggle("Import chains whose tags do not parse cleanly too"),
  }),
  train: section("How models are trained", "model", {
    preset: choice(["verifiable", "faults"], "Settings of rl that learn without losing what the model knows: for answers that can be checked, or for tools that fail; each can still be set", { flag: "preset", valueName: "name", sets: presets }),
    steps: whole("Updates (sft; default: as many as --epochs needs), or steps of rollouts and updates (rl, opd; default: 60)", { flag: "steps", valueName: "n" }),
    rate: number("Peak learning rate (default: by stage, size and kind; printed)", { flag: "rate", min: 0, valueName: "lr" }),
    optimizer: choice(["adamw", "muon"], "Optimizer; muon trains matrices of small models from scratch", { flag: "optimizer", default: "adamw", valueName: "name" }),
    matrixRate: number("Peak learning rate of matrices with muon", { min: 0 }),
    weightDecay: number("Decoupled weight decay", { default: 0, min: 0 }),
    gradientClip: number("Max gradient norm", { default: 1, min: 0 }),
    warmup: whole("Steps of linear warm-up (default: a tenth of all, at most 10)", { min: 0 }),
    microBatchTokens: whole("Max padded tokens computed at once; more are accumulated", { min: 64 }),
    checkpointEvery: whole("Steps between checkpoints (default: 200 in sft, 5 in rl and opd)"),
    epochs: number("Passes over the dataset", { flag: "epochs", default: 2, min: 0, valueName: "n" }),
    batchTokens: whole("Tokens per update of sft, padding included", { default: 4096, min: 64 }),
    heldOut: number("Share of the examples of sft kept back to measure the loss on", { default: 0.02, min: 0, max: 0.5 }),
    groups: whole("Groups (tasks) per step that must have something to teach", { flag: "groups", default: 64, valueName: "n" }),
    samples: whole("Rollouts per task", { flag: "samples", default: 8, valueName: "n" }),
    temperature: number("Temperature of the rollouts; the loss uses the same", { default: 1, min: 0.01 }),
    passes: whole("Passes over a step's rollouts", { default: 1 }),
    updates: whole("Updates per pass over a step's rollouts", { default: 2 }),
    clipLow: number("Lower clip of the ratio", { default: 0.2, min: 0 }),
    clipHigh: number("Upper clip of the ratio", { default: 0.28, min: 0 }),
    dualClip: number("Bound on the loss of bad rollouts", { default: 10, min: 1 }),
    baseline: choice(["group", "least-variance"], "What a reward is compared with; least-variance learns faster when failed rollouts are long and unlikely", { default: "group" }),
    credit: choice(["whole", "after-fault", "branch-at-fault"], "What a reward is credited to; with --tool-faults: what follows the first fault, or that in groups that share a chain up to it", { default: "whole" }),
    rateByGroups: toggle("Scale the rate by kept groups / requested groups"),
    guard: text("Dataset of demonstrations imitated in every update, so that what was taught is not lost; own: chains of the starting model that were right where tools work", { flag: "guard", valueName: "dataset" }),
    guardWeight: number("Weight of the guard's mean loss beside the policy's", { default: 1, min: 0 }),
    average: number("Average the weights over this last share of the steps", { default: 0, min: 0, max: 1 }),
    startShare: number("With average: share of the starting weights in the mean", { default: 0, min: 0, max: 1 }),
    context: text("Max context by step: 16384,32768@40 is 16384 tokens, and 32768 from step 40 on (default: the model's)"),
    concurrency: whole("Rollouts at the same time (default: 64, or all that are in flight)"),
    maxStaleness: whole("Max steps between the weights that sampled a token and those trained on it; 0: every step waits for its own rollouts", { default: 0, min: 0 }),
    inFlight: whole("With maxStaleness: groups begun and not yet trained on (default: enough for that many steps and one more)"),
    coefficient: number("Weight of the teacher in opd", { default: 1, min: 0 }),
    rewardWeight: number("Weight of the reward beside the teacher in opd; 0 leaves RL out", { default: 0, min: 0 }),
    teamCalls: whole("Max corrections asked of a team in one step of opd"),
  }),
  engine: section("What trains the weights: this machine, or a Tinker server", "model", {
    kind: choice(["embedded", "tinker"], "Where weights are trained: this machine, or a Tinker server", { flag: "engine", default: "embedded", valueName: "name" }),
    url: text("The Tinker server (default: TINKER_BASE_URL)", { flag: "engine-url", valueName: "url" }),
    baseModel: text("The model to train on the server", { flag: "base-model", valueName: "name" }),
    lora: whole("Rank of a low-rank adapter to train instead of all weights; 0 on a server: all weights", { flag: "lora", min: 0, valueName: "rank" }),
    loraAlpha: number("Scale of the adapter: alpha / rank (default: 2 x rank; servers fix it at 32)", { min: 0 }),
    loraTargets: text("Projections that get an adapter, such as q_proj,v_proj (default: all)"),
    trainEmbeddings: toggle("Train embedding and head too, for models above 50 M parameters (smaller ones always do); needed where tokens are new"),
    threads: whole("Threads (default: all cores)", { flag: "threads", valueName: "n" }),
    reduction: choice(["sum", "sequence-mean"], "How the server adds up losses; sequence-mean for SkyRL on jax", { default: "sum" }),
    price: text("Dollars per million tokens read, sampled and trained on the server: in,out,train"),
    samplerUrl: text("OpenAI-compatible server (vLLM, SGLang) that serves the trained weights, to sample from"),
    samplerModel: text("What that server calls the trained weights (default: the model's id on the training server)"),
    stateHours: number("Hours after which the server may delete saved states (default: never)", { min: 0 }),
    maxContext: whole("Max context on the server (default: what config.json says)", { min: 16 }),
    roundMaxTokens: toggle("Train and sample 64, 256, 1024... tokens and cut: for servers that compile for each number"),
  }),
  reward: section("What a finished chain earns", "input", {
    formatFactor: choice(["reference", "strict"], "Reward 0 where the form is wrong: the paper's rule for code calls, or any rule (default: the form does not count)"),
    overlongTokens: whole("Longest answer that is fully rewarded (default: any)", { min: 8 }),
    overlong: choice(["punish", "filter", "both"], "What becomes of longer ones: punished from 7/8 on, cut-off rollouts leave their group, or both", { default: "punish" }),
  }),
  workers: section("Where workers take the rollouts of a training run", "input", {
    port: whole("Let workers run the rollouts (coa worker --coordinator …), on this port; 0 for any free one", { flag: "workers-port", min: 0, max: 65_535, valueName: "n" }),
    host: text("Address for workers; beyond loopback a key is needed", { default: "127.0.0.1" }),
    key: text("Key that workers must bring (default: COA_WORKERS_KEY)"),
    silenceSeconds: number("A worker that is silent for so long counts as lost, and its rollouts are offered again", { default: 30, min: 1 }),
    patienceSeconds: number("How long a worker waits for a coordinator that can't be reached", { default: 60, min: 0 }),
    deadlineSeconds: number("A rollout that a worker has not finished by then is offered again", { default: 3600, min: 1 }),
  }),
  eval: section("Which tasks of a benchmark are run, and how", "input", {
    benchmark: text("Which benchmark the file holds (default: found from its name)"),
    families: list("Only tasks of this family"),
    levels: list("Only tasks of this level"),
    textOnly: toggle("Leave out tasks that come with a picture"),
    since: text("Only tasks published on this day or later, as 2024-08-01"),
    until: text("Only tasks published on this day or earlier"),
    tests: text("LiveCodeBench's release with all tests, joined by question id"),
    allowMissingGolds: toggle("Run a file in which answers are missing"),
    retryErrors: toggle("Run again what crashed earlier"),
    harness: choice(["afm"], "Run a chain as the evaluation of Agent Foundation Models does, for their published weights"),
    blocklist: toggle("Keep pages that hold benchmark answers out", { default: true }),
  }),
  tasks: section("How tasks are written and selected", "input", {
    perDocument: whole("Questions about one document alone", { default: 2 }),
    depth: whole("How many look-ups deeper questions go", { default: 1, min: 0 }),
    width: number("Share of questions that are also merged with another", { default: 0.5, min: 0, max: 1 }),
    seed: whole("Another seed asks about other passages first", { default: 0, min: 0 }),
    maxWithoutTools: number("Tasks answered more often without tools are dropped", { default: 0.3, min: 0, max: 1 }),
    minSolved: number("Tasks solved less often are too hard", { default: 0.01, min: 0, max: 1 }),
    maxSolved: number("Tasks solved more often are too easy for RL (default: 0.99; 1 for a team)", { min: 0, max: 1 }),
  }),
  limits: section("Limits of one run", "limits", {
    maxSteps: whole("Max model calls per run"),
    maxTokens: whole("Max tokens written per run", { flag: "max-tokens", valueName: "n" }),
    maxSeconds: number("Max wall time per run", { min: 0 }),
  }),
  spending: section("What model calls cost, and how much may be spent", "limits", {
    price: list("Dollars per million tokens, of one model or of all", { flag: "price", valueName: "[model=]in,out[,cached]" }),
    maxUsd: number("Max dollars to spend (needs --price)", { flag: "max-usd", min: 0, valueName: "usd" }),
    maxTokens: whole("Max tokens of all calls in the ledger, read and written"),
    ledger: text("File that keeps what each call cost; --max-usd counts what it holds already"),
  }),
  serve: section("How coa serve answers requests with chains", "output", {
    name: text("Model name that clients ask for (default: the model's own)", { flag: "name", valueName: "name" }),
    keep: text("Append every served chain to this JSONL file, secrets removed: the next dataset", { flag: "keep", valueName: "file" }),
    shadow: text("Answer from the old system at this base URL, run the chain beside it and count agreement", { flag: "shadow", valueName: "url" }),
    fallback: text("Ask the system at this base URL, or this model of OPENAI_BASE_URL, if the chain has no answer or its check is below 3", { flag: "fallback", valueName: "url" }),
    cascade: toggle("Let the model's cascade.json decide when the fallback is asked (coa cascade fit)", { flag: "cascade", needs: "serve.fallback" }),
    audit: text("Share of the requests that the fallback answers too, unseen, to watch the promise of the cascade", { flag: "audit", default: "2%", valueName: "share", needs: "serve.cascade" }),
    whenDown: choice(["fail", "model"], "With a cascade, when the fallback can't be asked: refuse with 503, or give the model's answer, marked", { default: "fail" }),
    stickyBy: choice(["conversation", "key"], "With --model live and a canary: what stays with one version", { default: "conversation" }),
    maxEscalations: whole("Max questions to the fallback an hour, with a cascade; beyond them as when it is down", { min: 0 }),
    oldModel: text("Model name at the address of shadow or fallback (default: the first one listed there)"),
    maxChains: whole("Max chains at a time; others wait (default: 16, 64 for rollouts)"),
    maxQueue: whole("Max waiting chains; more are refused with 429 (default: 256, 4096 for rollouts)", { min: 0 }),
    state: text("Folder, or postgres:// address that several servers share, of stored responses and waiting chains (default: serve in the workspace)", { flag: "state", valueName: "place" }),
    clientTools: choice(["on", "off"], "Whether clients may bring their own tools (default: on if the model reads of tools in a prompt)"),
    media: choice(["refuse", "ignore"], "What happens to images, sound and files in a request", { default: "refuse" }),
    showTools: toggle("Show executed tools as items of their own to every client of the Responses API"),
  }),
  improve: section("Rounds of improvement from production", "input", {
    guard: list("Chains of earlier demonstrations, so that the model forgets nothing"),
    margin: number("Largest loss on the exam that counts as not worse, as a share", { default: 0.02, min: 0, max: 1 }),
  }),
  trainer: section("The training server of this machine", "limits", {
    checkpoints: text("Where saved weights are kept", { default: ".coa/trainer" }),
    maxModels: whole("Max adapters under training at the same time", { default: 4 }),
    maxMemoryGb: number("Max memory for the base, adapters and published policies (default: 60 % of this machine's)", { min: 0.001 }),
    threads: whole("Threads (default: all cores)"),
  }),
  server: section("Where servers listen, who may call them, how they stop", "input", {
    port: whole("Port; 0 for any free one", { flag: "port", default: 4242, min: 0, max: 65_535, valueName: "n" }),
    host: text("Address to listen on; beyond this machine only with keys", { flag: "host", default: "127.0.0.1", valueName: "address" }),
    apiKeyFile: text("API keys that callers need, one to a line (default: COA_API_KEY)", { flag: "api-key-file", valueName: "file" }),
    publicHosts: list("Names under which a proxy in front passes requests on"),
    cors: list("Origins of web pages that may call the server"),
    maxBodyMb: number("Max size of a request body in megabytes", { default: 20, min: 0.001 }),
    log: choice(["error", "warn", "info"], "Requests that get a line of JSON on stderr: faults, what was refused too, or all", { default: "error" }),
    graceSeconds: number("Seconds that a server that stops still takes requests while GET /ready says no, if that was ever asked", { default: 5, min: 0 }),
    drainSeconds: number("Max seconds that running requests get to finish when the server stops", { default: 30, min: 0 }),
  }),
  index: section("How documents are cut and indexed", "input", {
    passageWords: whole("Words per passage of a folder's files", { default: 150, min: 10, max: 100_000 }),
    titleBoost: whole("The title counts as if written this many times", { default: 1, min: 0, max: 1000 }),
    k1: number("Saturation of word counts", { default: 1.2, min: 0 }),
    b: number("Strength of length normalisation", { default: 0.75, min: 0, max: 1 }),
    baseUrl: text("Address of the folder's root, for links to its files"),
  }),
  up: section("What coa up takes its input for, and what it keeps back", "input", {
    input: choice(["documents", "traces"], "What the input is, where both are possible (default: by its files)"),
    heldOut: number("Share of the questions that training never sees", { default: 0.2, min: 0, max: 0.9 }),
    rlSteps: whole("Steps of practice on the questions of training, where --tasks gives their answers and tools are live; 0: none", { default: 30, min: 0 }),
  }),
  lab: section("Which lab world, and which questions about it", "input", {
    pages: whole("How many pages the world has", { default: 600, min: 20 }),
    taskSeed: whole("Other questions about the same world", { default: 0, min: 0 }),
  }),
  newModel: section("The architecture of a new model", "model", {
    architecture: choice(["qwen2", "qwen3", "llama"], "Architecture", { default: "qwen2" }),
    kvHeads: whole("Heads for keys and values (default: as many as heads)"),
    headSize: whole("Width of a head (default: hidden / heads)"),
    inner: whole("Inner width (default: 8/3 of hidden)"),
    untied: toggle("An output matrix of its own instead of the embedding"),
    copyInit: toggle("Start with a circuit that copies (qwen2 only)"),
  }),
} as const;

export type SectionName = keyof typeof sections;

type Table<S extends SectionName> = (typeof sections)[S]["settings"];

/** The values of a section, as a command gets them. */
export type Section<S extends SectionName> = {
  [K in keyof Table<S>]: Table<S>[K] extends Setting<infer T> ? T : never;
};

/** The values of the sections that a command reads. */
export type Settings<S extends SectionName> = { [Name in S]: Section<Name> };

/** A workspace's configuration: sections with what differs from the defaults. */
export type Config = { [S in SectionName]?: Partial<Section<S>> };

/** The settings of a section that differ from the defaults: what belongs to the identity of a run. */
export function changedSettings<S extends SectionName>(section: S, values: Section<S>): Partial<Section<S>> {
  const table = sections[section].settings as Record<string, Setting>;
  const changed = Object.entries(values).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(table[name]?.default),
  );
  return Object.fromEntries(changed) as Partial<Section<S>>;
}

/** The changed settings of a section as arguments of another command: by flags that it shows, else by `--set`. */
export function settingArguments<S extends SectionName>(
  section: S,
  values: Section<S>,
  shown: readonly string[],
): string[] {
  return Object.entries(changedSettings(section, values)).flatMap(([name, value]) => {
    const { flag = "", kind } = settingAt(section, name)!;
    const texts =
      kind === "pairs" ? Object.entries(value as object).map((pair) => pair.join("=")) : [value ?? []].flat();
    const path = `${section}.${name}${kind === "pairs" ? "." : "="}`;
    return texts.flatMap((text) => (shown.includes(flag) ? [`--${flag}`, String(text)] : ["--set", `${path}${text}`]));
  });
}

/** How a setting is typed: by its flag, or as `section.name`. */
export function spelling(path: string): string {
  const [section = "", name = ""] = path.split(".");
  const flag = settingAt(section, name)?.flag;
  return flag === undefined ? path : `--${flag}`;
}

/** A setting by section and name; undefined where there is none. */
export function settingAt(section: string, name: string): Setting | undefined {
  const table = Object.hasOwn(sections, section) ? sections[section as SectionName].settings : {};
  return Object.hasOwn(table, name) ? (table as Record<string, Setting>)[name] : undefined;
}
