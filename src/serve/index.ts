/** Serving a model with its tools. Every export is named here, one by one; what is not here is not public. */
export type { AccessOptions } from "../base/http/access.ts";
export type { PolicyAddress } from "../train/workers/worker-protocol.ts";
export { type ChainHandlerOptions, chainHandler } from "./chain-handler.ts";
export type { ChainServiceOptions } from "./chain-service.ts";
export { type KeptChains, openKeptChains } from "./kept-chains.ts";
export { readKeys, type ServeKey } from "./keys.ts";
export type { Agree, OldSystemOptions } from "./old-system.ts";
export { type RewardHandlerOptions, rewardHandler } from "./reward-handler.ts";
export { type RolloutHandlerOptions, rolloutHandler } from "./rollout-handler.ts";
export { type PortOptions, serve } from "./serve.ts";
export type { ServedHandler, ServeOptions } from "./served-handler.ts";
export { openServeStore, type ServeStore, type ServeStoreOptions } from "./store/open-store.ts";
export { type ToolHandlerOptions, toolHandler } from "./tool-handler.ts";
export { type TrainerHandler, type TrainerServerOptions, trainerHandler } from "./trainer/trainer-handler.ts";
