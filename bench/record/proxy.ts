/** The recording proxy of the benchmark, in a process of its own. */
import { startProxy } from "../../src/record/proxy/start-proxy.ts";

const [, , to, folder] = process.argv;
console.log((await startProxy({ to: to!, folder: folder! })).url);
