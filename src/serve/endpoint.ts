/** What endpoints of our servers are: routes behind the guard, with the caller that the request's key belongs to. */
import type { Call as GuardedCall, Route } from "../base/http/guard.ts";
import type { Caller } from "./keys.ts";

export type Call = GuardedCall<Caller>;

/** Answers a request; a value that it returns is sent as JSON. */
export type Endpoint = Route<Caller>;
