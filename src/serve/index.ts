/** Serving a model with its tools. Every export is named here, one by one; what is not here is not public. */
export type { AccessOptions } from "../base/http/access.ts";
export { type ChainHandlerOptions, chainHandler } from "./chain-handler.ts";
export type { ChainServiceOptions } from "./chain-service.ts";
export type { ServeKey } from "./keys.ts";
export { type RewardHandlerOptions, rewardHandler } from "./reward-handler.ts";
export { type PortOptions, serve } from "./serve.ts";
export type { ServedHandler, ServeOptions } from "./served-handler.ts";
export { openServeStore, type ServeStore, type ServeStoreOptions } from "./store/open-store.ts";
