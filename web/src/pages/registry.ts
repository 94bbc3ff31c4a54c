/*
 * registry.ts - which tool has a page of its own. All others are shown by table_page.tsx. A row is a name; all else is in the page's file.
 */
import type { FunctionComponent } from "preact";
import { CountersPage } from "./counters";
import { EndToEndPage } from "./end_to_end";
import { GraphViewerPage } from "./graph_viewer";
import { InferencePage } from "./inference";
import { InputPipelinePage } from "./input_pipeline";
import { MegascalePage } from "./megascale";
import { MemoryProfilePage } from "./memory_profile";
import { MemorySnapshotPage } from "./memory_snapshot";
import { MemoryViewerPage } from "./memory_viewer";
import { OpProfilePage } from "./op_profile";
import { OpStatsPage } from "./op_stats";
import { OverviewPage } from "./overview";
import { PodViewerPage } from "./pod_viewer";
import { RooflinePage } from "./roofline";
import type { Session } from "./session";
import { SuggestionsPage } from "./suggestions";
import { TablePage } from "./table_page";
import { TfDataPage } from "./tf_data";
import { TfGraphPage } from "./tf_graph";
import { TraceViewerPage } from "./trace_viewer";
import { KernelUtilizationPage, UtilizationPage } from "./units";

export type Page = FunctionComponent<{ session: Session }>;

const pages: Readonly<Record<string, Page>> = {
	overview_page: OverviewPage,
	input_pipeline_analyzer: InputPipelinePage,
	framework_op_stats: OpStatsPage,
	hlo_stats: OpStatsPage,
	kernel_stats: OpStatsPage,
	op_profile: OpProfilePage,
	graph_viewer: GraphViewerPage,
	memory_profile: MemoryProfilePage,
	memory_snapshot: MemorySnapshotPage,
	memory_viewer: MemoryViewerPage,
	pod_viewer: PodViewerPage,
	roofline_model: RooflinePage,
	smart_suggestion: SuggestionsPage,
	inference_profile: InferencePage,
	megascale_stats: MegascalePage,
	perf_counters: CountersPage,
	utilization_viewer: UtilizationPage,
	kernel_utilization: KernelUtilizationPage,
	tf_data_bottleneck_analysis: TfDataPage,
	tf_graph: TfGraphPage,
	end_to_end: EndToEndPage,
	"trace_viewer@": TraceViewerPage,
	trace_viewer: TraceViewerPage,
};

export function pageOf(name: string, kind: string): Page {
	return pages[name] ?? (kind === "timeline" ? TraceViewerPage : TablePage);
}
