import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readSetting } from "../setting.ts";
import { presets, settingAt } from "../settings/index.ts";
import { usualRate } from "./train-options.ts";

describe("rates where none is set", () => {
  it("fall with the size, are higher for adapters and imitation, and are printed", () => {
    const rate = (stage: "sft" | "rl", parameters: number, lora?: number) =>
      usualRate(stage, { parameters, lora, optimizer: "adamw" }).rate;
    assert.deepEqual(
      [2e6, 135e6, 0.5e9, 1.5e9, 7e9, 0].map((size) => rate("rl", size)),
      [3e-4, 1e-4, 2.7e-5, 9e-6, 1.9e-6, 1e-6],
    );
    assert.deepEqual(
      [135e6, 0.5e9, 7e9, 0].map((size) => rate("sft", size)),
      [3e-4, 8.1e-5, 1e-5, 1e-5],
    );
    assert.deepEqual([rate("sft", 0.5e9, 16), rate("rl", 135e6, 16), rate("rl", 0, 32)], [2e-4, 1e-4, 4e-5]);
    const { reason } = usualRate("rl", { parameters: 135e6, lora: 16, optimizer: "adamw" });
    assert.equal(reason, "Rate 0.0001 for an adapter (135 M parameters); --rate overrides.");
  });
});

describe("presets", () => {
  it("name settings that exist, with values that these take", () => {
    for (const [preset, settings] of Object.entries(presets)) {
      for (const [path, value] of Object.entries(settings)) {
        const [section = "", name = ""] = path.split(".");
        const setting = settingAt(section, name);
        assert.ok(setting, `${preset}: ${path}`);
        assert.equal(readSetting(setting, value, path), value);
      }
    }
  });
});
