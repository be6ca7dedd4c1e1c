/** What each `--preset` stands for, by the path of every setting that it gives a default. */
import { practisedFaults, rlPresets } from "../../train/presets.ts";

function presetSettings(name: keyof typeof rlPresets, more: Record<string, unknown>): Record<string, unknown> {
  const own = Object.entries(rlPresets[name]).map(([setting, value]) => [`train.${setting}`, value]);
  return { ...Object.fromEntries(own), "reward.formatFactor": "strict", ...more };
}

export const presets = {
  verifiable: presetSettings("verifiable", {}),
  faults: presetSettings("faults", { "tools.faults": practisedFaults }),
};
