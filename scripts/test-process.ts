/**
 * Loaded into the process of every test file. When its last test has ended the process must end by itself: forcing it would cut
 * off the tests that it has not yet reported, and would hide what was left open. A process that stays fails its file and
 * names what keeps it.
 */
import { after } from "node:test";
import { isMainThread } from "node:worker_threads";

/** How long a process may take to end after its last test. Only a leak makes a process wait for it. */
const graceMs = Number(process.env["COA_TEST_GRACE_MS"] ?? 120_000);

function failOpen(): void {
  const kept = process.getActiveResourcesInfo().join(", ");
  process.stderr.write(`${process.argv[1]} has ended its tests and does not end: ${kept}\n`);
  // The line above must leave first.
  setTimeout(() => process.exit(1), 100);
}

// Processes and threads that a test starts may inherit the flag that loads this.
if (isMainThread && process.argv[1]?.endsWith(".test.ts")) after(() => void setTimeout(failOpen, graceMs).unref());
