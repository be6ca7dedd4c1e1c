import { describe } from "node:test";
import { liveApps } from "./sdk-apps.ts";
import { testLiveApps } from "./test-live-apps.ts";

describe("live apps of many frameworks, unchanged", { concurrency: 1 }, () => testLiveApps(liveApps));
