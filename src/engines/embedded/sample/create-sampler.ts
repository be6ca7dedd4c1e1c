/**
 * The scheduler: continuous batching over a paged cache. Every step gathers, from each sequence that can move, the
 * positions still to compute (one while decoding, a chunk while reading context), packs them into tiles, lets the
 * threads compute them, and draws a token where a sequence's last position is done. When pages run out, paused sessions
 * are forgotten first; then the youngest running sequence goes back into the queue and later recomputes, to the same
 * bits, what it lost. Sequences that start alike (the samples of one prompt) compute their common beginning once: the
 * others wait those few steps and hold its pages too.
 */
import { CoaError, messageOf } from "../../../core/errors.ts";
import type { ModelConfig } from "../model/config.ts";
import type { ParameterSet } from "../model/parameters.ts";
import {
  contextBudget,
  type DecoderLayout,
  decoderLayout,
  memoryLimit,
  sampledContext,
  tileAddresses,
  tileRows,
  wantBytes,
} from "./decoder-layout.ts";
import type { Drawn } from "./draw-token.ts";
import { packWeights, writeRotaryTable } from "./pack-weights.ts";
import { decoderModule, startTileThreads } from "./run-tile.ts";
import { type SamplerEvent, type SamplerOptions, type SamplerRequest, samplerDefaults } from "./sampler.ts";
import {
  acceptToken,
  drawMasked,
  drawPlain,
  isPlain,
  logitScale,
  newSequence,
  type Sequence,
  sharedPrefix,
} from "./sequence.ts";
import { pagePool, sessionCache } from "./session-cache.ts";
import { pagePositions, rowBytes } from "./wasm/row-kernels.ts";
import { startWideThread } from "./wide-thread.ts";

const wasmPageBytes = 65536;
/** From so many rows on ONNX Runtime's products are faster, with the copies on the way to them. */
const minWide = 5;
/** Common beginnings shorter than this are not worth waiting for. */
const minShared = 16;

export type Sampler = ReturnType<typeof createSampler>;

/** Makes a sampler over these weights; it reads them now and again at every `weightsChanged`. */
export function createSampler(config: ModelConfig, parameters: ParameterSet, options: SamplerOptions = {}) {
  const threads = Math.max(1, options.threads ?? 1);
  const maxBatch = options.maxBatch ?? samplerDefaults.maxBatch;
  const asked = { threads, maxBatch, precision: options.precision, wide: options.wide };
  const maxContext = Math.min(options.maxContext ?? sampledContext(config, asked), config.maxContext);
  const layout = decoderLayout(config, { ...asked, maxContext });
  const { memory, pageCount, maximumPages } = decoderMemory(layout, options.cacheBytes ?? samplerDefaults.cacheBytes);
  const words = new Int32Array(memory.buffer);
  const floats = new Float32Array(memory.buffer);
  packWeights(memory.buffer, layout, config, parameters);
  writeRotaryTable(memory.buffer, layout, config);
  const module = decoderModule(config, layout, maximumPages);
  const tiles = startTileThreads({ module, memory, layout, vocabularySize: config.vocabularySize }, threads);
  const wide = options.wide ? startWideThread({ module, memory, layout, config, threads }, parameters) : undefined;
  const pool = pagePool(memory, layout.pages, layout.pageBytes, pageCount);
  const sessions = sessionCache(pool);
  const waiting: Sequence[] = [];
  const running: Sequence[] = []; // in order of admission
  const failures: SamplerEvent[] = []; // told at the end of the step
  let computedPositions = 0;
  const byId = new Map<number, Sequence>(); // both of the above
  const slots = Array.from({ length: maxBatch }, (_, index) => maxBatch - 1 - index);

  const release = (sequence: Sequence) => {
    running.splice(running.indexOf(sequence), 1);
    slots.push(sequence.slot);
    sequence.slot = -1;
  };
  const freePages = (sequence: Sequence) => {
    for (const page of sequence.pages.splice(0)) pool.give(page);
    sequence.computed = 0;
    sequence.heldLogits = undefined;
  };
  const retire = (sequence: Sequence) => {
    const { sessionKey, id } = sequence.request;
    byId.delete(id);
    release(sequence);
    if (sessionKey === undefined) freePages(sequence);
    else sessions.put(sessionKey, sequence.tokens.slice(0, sequence.computed), sequence.pages);
  };
  const admit = (sequence: Sequence) => {
    const { sessionKey } = sequence.request;
    sequence.slot = slots.pop()!;
    if (sequence.tokens.length === sequence.request.tokens.length && sessionKey !== undefined) {
      const cached = sessions.take(sessionKey, sequence.tokens);
      sequence.computed = cached.length;
      sequence.pages = cached.pages;
      sequence.contextComputed = sequence.tokens.length - cached.length;
      writePageTable(sequence, 0);
    }
    if (sequence.computed === 0) sequence.twin = findTwin(sequence);
    running.push(sequence);
  };
  const writePageTable = (sequence: Sequence, from: number) => {
    const table = (layout.pageTables + sequence.slot * layout.pageTableBytes) / 4;
    for (let index = from; index < sequence.pages.length; index++) words[table + index] = sequence.pages[index]!;
  };
  const findTwin = ({ tokens }: Sequence): Sequence["twin"] => {
    let best: Sequence["twin"];
    for (const other of running) {
      // One that waits itself does not count: two sequences must never wait for each other.
      if (other.twin) continue;
      const shared = sharedPrefix(tokens, other.tokens);
      if (shared >= minShared && shared > (best?.shared ?? 0)) best = { sequence: other, shared };
    }
    return best;
  };
  /** Takes over the twin's beginning once it is computed; false while the sequence should wait for it. */
  const meetTwin = (sequence: Sequence): boolean => {
    const { twin } = sequence;
    if (!twin) return true;
    const { sequence: other, shared } = twin;
    if (other.slot >= 0 && other.computed < shared) return false;
    sequence.twin = undefined;
    if (other.slot < 0) return true;
    // Full pages are shared, the page in which the two begin to differ is copied.
    const full = Math.floor(shared / pagePositions);
    sequence.pages = other.pages.slice(0, full).map(pool.share);
    sequence.computed = full * pagePositions;
    writePageTable(sequence, 0);
    if (!reserve(sequence, shared)) return false;
    const from = other.pages[full];
    if (shared === sequence.computed || from === undefined) return true;
    new Uint8Array(memory.buffer).copyWithin(sequence.pages[full]!, from, from + layout.pageBytes);
    sequence.computed = shared;
    return true;
  };
  /** Pages for the first `positions` positions; false when the sequence itself had to go back into the queue. */
  const reserve = (sequence: Sequence, positions: number): boolean => {
    const had = sequence.pages.length;
    while (sequence.pages.length * pagePositions < positions) {
      const page = pool.take();
      if (page !== undefined) sequence.pages.push(page);
      else if (!sessions.evict()) {
        const youngest = running.at(-1)!;
        const alone = running.length === 1;
        release(youngest);
        freePages(youngest);
        if (alone) abandon(youngest, "the machine has no memory left for its cache");
        else waiting.unshift(youngest);
        if (youngest === sequence) return false;
      }
    }
    writePageTable(sequence, had);
    return true;
  };

  /** Packs the next positions of all sequences into tiles; returns the number of tiles and whose outputs to expect. */
  const gather = (): { count: number; outputs: Sequence[]; together: boolean } => {
    const work: { sequence: Sequence; rows: number }[] = [];
    const all = running.reduce((sum, { tokens, computed }) => sum + tokens.length - computed, 0);
    const most = wide && all >= minWide && wide.ready ? contextBudget : tileRows;
    let budget = contextBudget;
    for (const sequence of [...running]) {
      if (sequence.slot < 0 || sequence.heldLogits || !meetTwin(sequence)) continue;
      const pending = sequence.tokens.length - sequence.computed;
      const rows = pending === 1 ? 1 : Math.min(pending, most, budget);
      if (rows === 0 || !reserve(sequence, sequence.computed + rows)) continue;
      if (pending > 1) budget -= rows;
      work.push({ sequence, rows });
    }
    // A later sequence may have pushed out one that was already gathered.
    const ready = work.filter(({ sequence }) => sequence.slot >= 0);
    const total = ready.reduce((sum, { rows }) => sum + rows, 0);
    computedPositions += total;
    const together = most > tileRows && total >= minWide;
    const target = together ? total : tileSize(total, threads);
    const outputs: Sequence[] = [];
    let count = 0;
    let used = 0;
    let wanted = 0;
    for (const { sequence, rows } of ready) {
      if (count === 0 || used + rows > Math.max(target, rows)) {
        count++;
        used = 0;
        wanted = 0;
      }
      const place = tileAddresses(layout, together ? "wide" : count - 1);
      for (let index = 0; index < rows; index++, used++) {
        const at = (place.rows + used * rowBytes) / 4;
        words[at] = sequence.computed + index;
        words[at + 1] = layout.pageTables + sequence.slot * layout.pageTableBytes;
        words[at + 2] = sequence.tokens[sequence.computed + index]!;
      }
      sequence.computed += rows;
      if (wanted === 0) words[place.header / 4 + 2] = outputs.length;
      if (sequence.computed === sequence.tokens.length) {
        const at = (place.wants + wanted * wantBytes) / 4;
        words[at] = used - 1;
        floats[at + 1] = isPlain(sequence) ? logitScale(sequence) : 0;
        outputs.push(sequence);
        wanted++;
      }
      words[place.header / 4] = used;
      words[place.header / 4 + 1] = wanted;
    }
    return { count, outputs, together };
  };

  const abandon = ({ request }: Sequence, message: string) => {
    byId.delete(request.id);
    failures.push({ type: "failed", id: request.id, message });
  };
  const draw = (sequence: Sequence, choose: () => Drawn, events: SamplerEvent[]) => {
    try {
      const made = acceptToken(sequence, choose(), maxContext);
      events.push(...made);
      if (made.length > 1) retire(sequence);
    } catch (error) {
      abandon(sequence, messageOf(error));
      release(sequence);
      freePages(sequence);
    }
  };
  const drawOutput = (sequence: Sequence, output: number, events: SamplerEvent[]) => {
    const row = (layout.logits + output * layout.logitsBytes) / 4;
    const values = floats.subarray(row, row + config.vocabularySize);
    if (!sequence.mask.known) sequence.heldLogits = values.slice();
    else if (!isPlain(sequence)) draw(sequence, () => drawMasked(sequence, values), events);
    else draw(sequence, () => drawPlain(sequence, values, floats[row + layout.vocabularyWidth]!), events);
  };

  return {
    maxContext,
    /** Queues a request; throws when it can never run (an unknown id, a context longer than the model's). */
    submit(request: SamplerRequest): void {
      checkRequest(request, config, maxContext);
      if (byId.has(request.id)) throw new CoaError("engine", `can't sample: request ${request.id} is still running`);
      const sequence = newSequence(request);
      byId.set(request.id, sequence);
      waiting.push(sequence);
    },
    /** Which ids may come next in a `masked` request; undefined = all. */
    allow(id: number, tokens: readonly number[] | undefined): void {
      const sequence = byId.get(id);
      if (sequence) sequence.mask = { known: true, allowed: tokens };
    },
    /** Advances every sequence that can move by one token or one chunk of its context. */
    step(): SamplerEvent[] {
      const events: SamplerEvent[] = [];
      for (const sequence of [...running]) {
        const { heldLogits } = sequence;
        if (!heldLogits || !sequence.mask.known) continue;
        sequence.heldLogits = undefined;
        draw(sequence, () => drawMasked(sequence, heldLogits), events);
      }
      while (waiting.length > 0 && slots.length > 0 && (running.length === 0 || pool.free > 0 || sessions.size > 0))
        admit(waiting.shift()!);
      const { count, outputs, together } = gather();
      if (together) wide!.run();
      else if (count > 0) tiles.run(count);
      for (const [index, sequence] of outputs.entries()) drawOutput(sequence, index, events);
      events.push(...failures.splice(0));
      return events;
    },
    /** Positions computed so far, over all sequences. */
    get computedPositions(): number {
      return computedPositions;
    },
    /** Nothing to do until something is submitted or allowed. */
    get idle(): boolean {
      return waiting.length === 0 && running.every(({ heldLogits, mask }) => heldLogits !== undefined && !mask.known);
    },
    /** Forgets a request; no further event comes for it. */
    cancel(id: number): void {
      const sequence = byId.get(id);
      if (!sequence) return;
      byId.delete(id);
      if (sequence.slot < 0) waiting.splice(waiting.indexOf(sequence), 1);
      else release(sequence);
      freePages(sequence);
    },
    /** The parameters' numbers were changed in place: caches are dropped, running sequences recompute theirs. */
    weightsChanged(): void {
      packWeights(memory.buffer, layout, config, parameters);
      wide?.load();
      sessions.clear();
      for (const sequence of running) {
        sequence.computed = 0;
        sequence.heldLogits = undefined;
      }
    },
    endSession: (sessionKey: string): void => sessions.end(sessionKey),
    close(): void {
      wide?.close();
      tiles.close();
    },
  };
}

/**
 * Rows per tile: whole blocks of six, and twice as many tiles as threads where there are rows enough, so that a thread
 * that is held up by other work leaves tiles to the others.
 */
function tileSize(rows: number, threads: number): number {
  if (threads === 1) return tileRows;
  const tiles = rows < 16 * threads ? threads : 2 * threads;
  return Math.min(tileRows, Math.ceil(rows / tiles / 6) * 6);
}

/** The shared memory, and how many cache pages the budget allows in it. */
function decoderMemory(layout: DecoderLayout, cacheBytes: number) {
  const perContext = Math.ceil(layout.maxContext / pagePositions);
  const affordable = Math.floor(Math.min(cacheBytes, memoryLimit - layout.pages) / layout.pageBytes);
  // One full context must always fit, or a sequence could never finish.
  const pageCount = Math.max(affordable, perContext);
  const maximumPages = Math.ceil((layout.pages + pageCount * layout.pageBytes) / wasmPageBytes);
  const initial = Math.ceil(layout.pages / wasmPageBytes);
  return { memory: new WebAssembly.Memory({ initial, maximum: maximumPages, shared: true }), pageCount, maximumPages };
}

function checkRequest(
  { tokens, maxTokens, temperature = 1, topP = 1, topK = 0 }: SamplerRequest,
  config: ModelConfig,
  maxContext: number,
): void {
  const refuse = (message: string): never => {
    throw new CoaError("engine", `can't sample: ${message}`);
  };
  if (tokens.length === 0) refuse("the context is empty; give at least one token");
  if (tokens.length > maxContext) {
    const taker = maxContext < config.maxContext ? "the sampler's memory holds" : "the model takes";
    refuse(`the context has ${tokens.length} tokens and ${taker} ${maxContext}`);
  }
  const strange = tokens.find((token) => !(Number.isInteger(token) && token >= 0 && token < config.vocabularySize));
  if (strange !== undefined) refuse(`token ${strange} is not in the vocabulary of ${config.vocabularySize}`);
  if (!(Number.isInteger(maxTokens) && maxTokens >= 1))
    refuse(`maxTokens is ${maxTokens}; it must be a whole number of at least 1`);
  if (!(temperature >= 0 && temperature < Number.POSITIVE_INFINITY))
    refuse(`temperature is ${temperature}; it must be a number of at least 0`);
  if (!(topP > 0 && topP <= 1)) refuse(`topP is ${topP}; it must be above 0 and at most 1`);
  if (!(Number.isInteger(topK) && topK >= 0)) refuse(`topK is ${topK}; it must be a whole number, 0 for all tokens`);
}
