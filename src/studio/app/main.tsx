/** Starts the app in the page. */
import "./style/base.css";
import "./style/parts.css";
import "./style/lists.css";
import "./style/review.css";
import "./style/run.css";
import "./style/stages.css";
import "./style/tokens.css";
import { render } from "preact";
import { App } from "./app.tsx";
import { listenToKeys } from "./keys.ts";
import { followEvents } from "./server.ts";

listenToKeys();
void followEvents();
render(<App />, document.getElementById("app")!);
