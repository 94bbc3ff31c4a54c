/*
 * main.tsx - starts the page.
 */
import { render } from "preact";
import { startTheme } from "./base/theme";
import { Shell } from "./pages/shell";
import "uplot/dist/uPlot.min.css";
import "./css/base.css";
import "./css/shell.css";
import "./css/widgets.css";
import "./css/pages.css";
import "./css/ops.css";
import "./css/graph.css";
import "./css/compare.css";
import "./css/timeline.css";

startTheme();
const root = document.getElementById("app");
if (root) {
	/* The frame in index.html was for the first paint. */
	root.textContent = "";
	render(<Shell />, root);
}
