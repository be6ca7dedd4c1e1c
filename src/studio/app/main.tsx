/** Starts the app in the page. */
import "./style/base.css";
import "./style/parts.css";
import "./style/evaluate.css";
import "./style/funnel.css";
import "./style/list.css";
import "./style/overview.css";
import "./style/play.css";
import "./style/review.css";
import "./style/run.css";
import "./style/tokens.css";
import "./style/training.css";
import { render } from "preact";
import { App } from "./app.tsx";
import { listenToKeys } from "./keys.ts";
import { knownRoutes } from "./router.ts";
import { screens } from "./screens/index.ts";
import { followEvents } from "./server.ts";

knownRoutes.value = screens.map(({ route }) => route);
listenToKeys();
void followEvents();
render(<App />, document.getElementById("app")!);
