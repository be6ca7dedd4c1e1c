/** The screens and their routes. A screen is one file here; its parts that others use stand in `parts/`. */
import type { ComponentType } from "preact";
import { CompareScreen } from "./compare-screen.tsx";
import { DatasetScreen } from "./dataset-screen.tsx";
import { FunnelScreen } from "./funnel-screen.tsx";
import { ListScreen } from "./list-screen.tsx";
import { MatrixScreen } from "./matrix-screen.tsx";
import { OverviewScreen } from "./overview-screen.tsx";
import { PlayScreen } from "./play-screen.tsx";
import { ReviewScreen } from "./review-screen.tsx";
import { RoundsScreen } from "./rounds-screen.tsx";
import { RunScreen } from "./run-screen.tsx";
import { TokensScreen } from "./tokens-screen.tsx";
import { TrainingScreen } from "./training-screen.tsx";

export interface Screen {
  /** `/runs/:id`; the names are given to the component as `params`. */
  route: string;
  title: string;
  show: ComponentType<{ params: Record<string, string> }>;
  /** The word in the navigation; a screen without one is reached from another. */
  nav?: string;
  /** The key after `g` that goes there. */
  key?: string;
}

/** All screens, in the order of the navigation. */
export const screens: readonly Screen[] = [
  { route: "/", title: "Overview", show: OverviewScreen, nav: "Overview", key: "o" },
  { route: "/runs", title: "Team runs", show: ListScreen, nav: "Runs", key: "r" },
  { route: "/runs/:run", title: "Team run", show: RunScreen },
  { route: "/chains", title: "Chains", show: ListScreen, nav: "Chains", key: "c" },
  { route: "/chains/:chain", title: "Chain", show: RunScreen },
  { route: "/chains/:chain/tokens", title: "Tokens", show: TokensScreen },
  { route: "/distill", title: "Distillation", show: FunnelScreen, nav: "Distillation", key: "d" },
  { route: "/distill/:folder", title: "Distillation", show: FunnelScreen },
  { route: "/datasets", title: "Datasets", show: DatasetScreen, nav: "Datasets", key: "s" },
  { route: "/datasets/:folder", title: "Dataset", show: DatasetScreen },
  { route: "/training", title: "Training", show: TrainingScreen, nav: "Training", key: "t" },
  { route: "/training/:folder", title: "Training", show: TrainingScreen },
  { route: "/evaluations", title: "Evaluations", show: MatrixScreen, nav: "Evaluations", key: "e" },
  { route: "/compare/:task", title: "One task", show: CompareScreen },
  { route: "/rounds", title: "Rounds", show: RoundsScreen, nav: "Rounds" },
  { route: "/rounds/:round", title: "Round", show: RoundsScreen },
  { route: "/play", title: "Playground", show: PlayScreen, nav: "Playground", key: "p" },
  { route: "/review", title: "Review", show: ReviewScreen, nav: "Review", key: "v" },
];
