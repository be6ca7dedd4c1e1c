/** llama.cpp through node-llama-cpp, where that is installed in bench/. */

interface Sequence {
  evaluate(tokens: number[], options: { temperature: number }): AsyncIterableIterator<number>;
  evaluateWithoutGeneratingNewTokens(tokens: number[]): Promise<void>;
  clearHistory(): Promise<void>;
}
interface Context {
  getSequence(): Sequence;
  dispose(): Promise<void>;
}
interface Llama {
  loadModel(options: object): Promise<{ createContext(options: object): Promise<Context>; dispose(): Promise<void> }>;
  dispose(): Promise<void>;
}

/** Opens a GGUF model on one thread, or returns undefined where node-llama-cpp is missing. */
export async function openLlama(modelPath: string) {
  const name = "node-llama-cpp";
  const library = (await import(name).catch(() => undefined)) as
    | { getLlama(options: object): Promise<Llama> }
    | undefined;
  if (!library) return undefined;
  const llama = await library.getLlama({ gpu: false, build: "never", logLevel: "error", maxThreads: 1 });
  const model = await llama.loadModel({ modelPath, useMmap: false });
  return {
    async greedy(prompt: readonly number[], count: number): Promise<number[]> {
      const context = await model.createContext({ contextSize: 512, threads: 1 });
      const tokens: number[] = [];
      for await (const token of context.getSequence().evaluate([...prompt], { temperature: 0 })) {
        tokens.push(token);
        if (tokens.length === count) break;
      }
      await context.dispose();
      return tokens;
    },
    /** Tokens per second of processor time, of `batch` sequences decoded together, `steps` tokens each, after `length` tokens of context. */
    async run(batch: number, length: number, steps: number): Promise<number> {
      const context = await model.createContext({
        contextSize: length + steps + 8,
        sequences: batch,
        batchSize: 512,
        threads: 1,
      });
      const sequences = Array.from({ length: batch }, () => context.getSequence());
      await Promise.all(
        sequences.map((sequence, id) =>
          sequence.evaluateWithoutGeneratingNewTokens(
            Array.from({ length }, (_, index) => 5 + ((id * 7 + index * 13) % 4000)),
          ),
        ),
      );
      const start = process.cpuUsage();
      await Promise.all(
        sequences.map(async (sequence) => {
          let left = steps;
          for await (const _ of sequence.evaluate([7], { temperature: 1 })) if (--left === 0) break;
        }),
      );
      const { user, system } = process.cpuUsage(start);
      const seconds = (user + system) / 1e6;
      await context.dispose();
      return (batch * steps) / seconds;
    },
    async close() {
      await model.dispose();
      await llama.dispose();
    },
  };
}
