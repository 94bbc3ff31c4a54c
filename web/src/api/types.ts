/*
 * types.ts - the server's answers, as docs/api.md describes them and table.h produces them.
 */
import type { Unit } from "../base/format";

export interface Run {
	run: string;
	path: string;
	time_s: number;
	bytes: number;
	hosts: string[];
}

export interface Runs {
	version?: string;
	logdir: string;
	capture?: boolean; /* the server takes profiles */
	history?: boolean; /* there is one to show */
	runs: Run[];
	skipped?: { path: string; why: string }[];
	bucket?: Bucket;
}

/* What it took so far to look into a bucket. */
export interface Bucket {
	objects: number;
	files: number;
	requests: number;
	lists: number;
	fetched_files: number;
	cached_files: number;
	fetched_bytes: number;
}

/* One run in a line; of `steps` on only where they were asked for. */
export interface RunFacts {
	device: string;
	hardware: string;
	cores: number;
	hosts: number;
	training: boolean;
	recorded_s?: number | null; /* when it was taken, by its own clock */
	steps?: number;
	step_ms?: number | null;
	step_ms_deviation?: number | null;
	input_percent?: number | null;
	limit?: string;
}

export interface Division {
	by: string;
	total: number;
	groups: number;
	rest: number;
	rest_frac: number;
	top: { name: string; sum: number; frac: number }[];
}

export interface Divisions {
	unit: Unit;
	greatest: { name: string; value: number; frac: number } | null;
	divisions: Division[];
}

export interface Tool {
	name: string;
	title: string;
	summary: string;
	kind: "tables" | "timeline" | "tree" | "graph";
	/* The one to show where none is chosen. */
	preset_host: string;
	hosts: string[];
	params?: { name: string; values: string[]; takes?: string; preset?: string; doc?: string }[];
	available: boolean;
	why?: string;
}

export interface Note {
	severity: "error" | "warning" | "info";
	text: string;
}

export type Cell = number | string | boolean | null;

export interface Prop {
	label: string;
	unit: Unit;
	value: Cell;
	text: string;
}

export interface Column {
	id: string;
	label: string;
	type: "f64" | "i64" | "str" | "bool";
	unit: Unit;
	doc?: string;
	role?: string; /* "tooltip", "interval": not for reading on its own; "id": a negative number is none */
}

export interface TableData {
	name: string;
	title: string;
	props: Record<string, Prop>;
	cols: Column[];
	nrows: number;
	data: Cell[][];
}

/* What a result comes to: plain sentences, `text` the answer. `see`: the tool that goes on from there, or "". */
export interface Conclusion {
	text: string;
	more: string[];
	mood: "plain" | "good" | "warn" | "bad";
	see: string;
}

export interface Result {
	tool: string;
	title: string;
	run: string;
	host: string;
	conclusion?: Conclusion | null;
	notes: Note[];
	tables: TableData[];
}

export interface TrackInfo {
	track: number;
	tid: number;
	name: string;
	kind: "slices" | "counter" | "async";
	rows: number;
	events: number;
	min?: number;
	max?: number;
	unit?: string;
}

export interface Section {
	pid: number;
	name: string;
	kind: "device" | "host" | "custom";
	tracks: TrackInfo[];
}

export interface Timeline {
	begin_ps: number;
	end_ps: number;
	start_unix_ns: number | null;
	events: number;
	dropped: number;
	sections: Section[];
	clocks: Clocks | null;
	notes: Note[];
}

/* Times are on one clock: what was taken off those of each host. */
export interface Clocks {
	text: string;
	hosts: {
		host: string;
		state: "good" | "corrected" | "unknown";
		corrected: boolean;
		offset_us: number | null;
		drift_ppm: number | null;
		uncertainty_us: number | null;
	}[];
}

export interface TimelineWords {
	conclusion: Conclusion | null;
	work: { begin_ps: number; end_ps: number } | null;
	pause: { begin_ps: number; end_ps: number } | null;
}

export interface FlowEnd {
	direction: "in" | "out";
	event: number;
	track: number;
	row: number;
	name: string;
	begin_ps: number;
	dur_ps: number;
}

export interface EventDetail {
	event: number;
	track: number;
	row: number;
	name: string;
	begin_ps: number;
	dur_ps: number;
	self_ps: number;
	args: { name: string; value: string | number }[];
	flows: FlowEnd[];
}

export interface SearchHit {
	event: number;
	track: number;
	row: number;
	name: string;
	begin_ps: number;
	dur_ps: number;
}

export interface SearchResult {
	count: number;
	rank: number;
	hits: SearchHit[];
}

export interface SummaryName {
	name: string;
	short?: string; /* where a C++ name has a shorter form */
	count: number;
	total_ps: number;
	avg_ps: number;
	self_ps: number;
	min_ps: number;
	max_ps: number;
	event: number;
}

export interface Summary {
	count: number;
	total_ps: number;
	self_ps: number;
	nnames: number;
	names: SummaryName[];
}

/* How busy each section was; two hexadecimal digits a bin, 255 being all of it. */
export interface Bands {
	begin_ps: number;
	end_ps: number;
	bins: number;
	sections: {
		section: number; /* index into the sections of the timeline */
		busy_ps: number;
		busy_frac: number;
		own_ps?: number; /* of a device */
		threads?: number; /* of others: what busy_ps is the sum over */
		slowest?: boolean;
		median_own_ps?: number;
		busy: string;
		parts: Readonly<Record<string, string>>;
	}[];
}

/* A stretch in which a device does nothing, explained. */
export interface GapAnswer {
	gap: { begin_ps: number; end_ps: number } | null;
	device: string;
	class: string;
	conclusion: Conclusion | null;
	ended_by: SearchHit | null;
	launch: SearchHit | null;
	host: SearchHit | null;
}

export interface Step {
	num: number;
	begin_ps: number;
	end_ps: number;
	outlier?: boolean;
}

export interface Steps {
	source: string;
	slowest: number;
	median: number;
	steps: Step[];
}

export interface FoundName {
	name: string;
	short?: string; /* where a C++ name has a shorter form */
	count: number;
	total_ps: number;
	min_ps: number;
	p50_ps: number;
	p99_ps: number;
	max_ps: number;
	event: number;
	when: number[];
}

export interface FoundNames {
	begin_ps: number;
	end_ps: number;
	count: number;
	nnames: number;
	names: FoundName[];
}

export const ALL_HOSTS = "ALL_HOSTS";
