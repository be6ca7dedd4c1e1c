/** Every question that the browser may ask, by path. A new screen adds its readers here. */
import { readBeside } from "./beside-reader.ts";
import { readCompare } from "./compare-reader.ts";
import { readDataset } from "./dataset-reader.ts";
import { readMatrix, readResult } from "./evaluation-readers.ts";
import { readDropped, readFunnel } from "./funnel-readers.ts";
import { readFacets, readItems, readLines, readText } from "./item-readers.ts";
import { readOverview } from "./overview-reader.ts";
import type { Reader } from "./reader.ts";
import { readReview } from "./review-reader.ts";
import { readRounds } from "./rounds-reader.ts";
import { readFolders } from "./stage-folders.ts";
import { readScore, readTokensOf } from "./tokens-reader.ts";
import { readStepRollouts, readTrainings } from "./training-readers.ts";
import { readViews } from "./views-routes.ts";

/** `GET /api/<name>`. */
export const readers: Readonly<Record<string, Reader>> = {
  overview: readOverview,
  result: readResult,
  items: readItems,
  facets: readFacets,
  beside: readBeside,
  text: readText,
  lines: readLines,
  tokens: readTokensOf,
  folders: readFolders,
  funnel: readFunnel,
  dropped: readDropped,
  score: readScore,
  dataset: readDataset,
  trainings: readTrainings,
  rollouts: readStepRollouts,
  matrix: readMatrix,
  compare: readCompare,
  review: readReview,
  rounds: readRounds,
  views: readViews,
};
