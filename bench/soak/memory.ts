/** Loaded into a server of the soak: tells its parent what it holds after a collection. */
process.on("message", () => {
  for (let round = 0; round < 2; round++) globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  process.send!({ liveMb: (heapUsed + external) / 2 ** 20, rssMb: rss / 2 ** 20 });
});
process.channel?.unref();
