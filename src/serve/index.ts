/** Serving a model with its tools. Every export is named here, one by one; what is not here is not public. */
export { type ChainHandlerOptions, chainHandler } from "./chain-handler.ts";
export { type RewardHandlerOptions, rewardHandler } from "./reward-handler.ts";
export { serve } from "./serve.ts";
export type { ServedHandler } from "./served-handler.ts";
export { openServeStore, type ServeStore, type ServeStoreOptions } from "./store/open-store.ts";
