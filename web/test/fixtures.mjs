/*
 * fixtures.mjs - answers in the shapes of docs/api.md, made up by rule: a training run on two accelerators with about a million events,
 * so that the page can be worked on and its pure modules tested without a server. Everything is deterministic.
 */

function random(seed) {
	let s = seed >>> 0;
	return () => {
		s = (s + 0x6d2b79f5) >>> 0;
		let t = Math.imul(s ^ (s >>> 15), 1 | s);
		t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
		return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
	};
}

const US = 1e6;
const OPS = [
	"fusion",
	"convolution",
	"copy-start",
	"copy-done",
	"all-reduce",
	"dot_general",
	"transpose",
	"reduce",
	"select_and_scatter",
	"dynamic-update-slice",
];

/* One track as columns, sorted by begin, outer slices first. */
class Track {
	constructor(name, kind = "slices") {
		this.name = name;
		this.kind = kind;
		this.begin = [];
		this.dur = [];
		this.row = [];
		this.label = [];
	}
	add(begin, dur, row, label) {
		this.begin.push(Math.round(begin));
		this.dur.push(Math.max(1, Math.round(dur)));
		this.row.push(row);
		this.label.push(label);
	}
	sort() {
		const order = this.begin
			.map((_, i) => i)
			.sort((a, b) => this.begin[a] - this.begin[b] || this.row[a] - this.row[b]);
		for (const k of ["begin", "dur", "row", "label"]) this[k] = order.map((i) => this[k][i]);
		this.rows = this.row.reduce((a, r) => Math.max(a, r + 1), 1);
		return this;
	}
}

export function makeTimeline(events = 1_000_000) {
	const rnd = random(7);
	const steps = 12;
	const perStep = Math.max(20, Math.floor(events / steps / 2.6));
	const stepPs = 42000 * US;
	const sections = [];
	for (let dev = 0; dev < 2; dev++) {
		const [st, mod, ops, scope] = ["Steps", "XLA Modules", "XLA Ops", "Framework Name Scope"].map((n) => new Track(n));
		const mem = new Track("HBM in use", "counter");
		mem.t = [];
		mem.value = [];
		for (let s = 0; s < steps; s++) {
			const b = s * stepPs + dev * 120 * US;
			st.add(b, stepPs * 0.97, 0, `train ${s}`);
			mod.add(b + stepPs * 0.05, stepPs * 0.9, 0, `jit_train_step(${4869159985936})`);
			let t = b + stepPs * 0.05;
			const each = (stepPs * 0.9) / perStep;
			for (let i = 0; i < perStep; i++) {
				const k = Math.floor(rnd() * rnd() * OPS.length);
				const len = each * (0.25 + rnd() * 1.3) * 0.72;
				if (i % 64 === 0) ops.add(t, each * 60, 0, `while.${(i / 64) % 7}`);
				if (i % 64 < 58) ops.add(t + each * 0.1, len, 1, `${OPS[k]}.${Math.floor(rnd() * 300)}`);
				t += each;
			}
			for (let i = 0; i < perStep / 50; i++) {
				const w = (stepPs * 0.9) / (perStep / 50);
				const x = b + stepPs * 0.05 + i * w;
				scope.add(x, w * 0.98, 0, "jit(train_step)");
				scope.add(x, w * 0.6, 1, i % 3 ? "transpose(jvp(Transformer))" : "jvp(Transformer)");
				scope.add(x, w * 0.4, 2, `layers_${i % 12}`);
				scope.add(x, w * 0.2, 3, i % 2 ? "attention" : "mlp");
			}
			for (let i = 0; i < 200; i++) {
				mem.t.push(Math.round(b + (i * stepPs) / 200));
				mem.value.push(Math.round((8 + 6 * Math.sin((i / 200) * Math.PI) + rnd()) * 2 ** 30));
			}
		}
		mem.rows = 1;
		sections.push({
			pid: 1003 + dev,
			name: `host0 /device:TPU:${dev} (chip 0, core ${dev})`,
			kind: "device",
			tracks: [st.sort(), mod.sort(), ops.sort(), scope.sort(), mem],
		});
	}
	const host = { pid: 1701, name: "host0 /host:CPU", kind: "host", tracks: [] };
	for (let th = 0; th < 24; th++) {
		const tr = new Track(th === 0 ? "python" : `tf_data_private_threadpool/${th}`);
		let t = rnd() * 2000 * US;
		const n = Math.floor(perStep / 24);
		const gap = ((steps * stepPs) / Math.max(1, n)) * 0.9;
		for (let i = 0; i < n; i++) {
			const d = gap * (0.2 + rnd() * 0.9);
			if (t + d > steps * stepPs) break;
			tr.add(
				t,
				d,
				0,
				th === 0
					? `PjitFunction(train_step)`
					: ["Iterator::Root::Prefetch", "Iterator::Root::Prefetch::Map", "ParallelMapProduce"][i % 3],
			);
			if (i % 2) tr.add(t + d * 0.1, d * 0.5, 1, th === 0 ? "PjRtCpuExecutable::Execute" : "DecodeJpeg");
			if (i % 4 === 1) tr.add(t + d * 0.15, d * 0.2, 2, "ThreadpoolListener::Region");
			t += d + gap * 0.2;
		}
		host.tracks.push(tr.sort());
	}
	sections.push(host);
	let track = 0;
	let first = 0;
	const flat = [];
	for (const s of sections)
		for (const t of s.tracks) {
			t.track = track++;
			t.first = first;
			first += t.kind === "counter" ? t.t.length : t.begin.length;
			flat.push(t);
		}
	return { sections, flat, begin_ps: 0, end_ps: steps * stepPs, events: first };
}

export function timelineAnswer(tl) {
	return {
		begin_ps: tl.begin_ps,
		end_ps: tl.end_ps,
		start_unix_ns: 1730519467000000000,
		events: tl.events,
		dropped: 0,
		notes: [],
		sections: tl.sections.map((s) => ({
			pid: s.pid,
			name: s.name,
			kind: s.kind,
			tracks: s.tracks.map((t, i) => ({
				track: t.track,
				tid: i + 1,
				name: t.name,
				kind: t.kind,
				rows: t.rows,
				events: t.kind === "counter" ? t.t.length : t.begin.length,
			})),
		})),
	};
}

/* The rule of the level of detail, in its simplest form: long enough, or far enough from the last one of the row. */
function visible(t, begin, end, px) {
	const out = [];
	const last = [];
	let all = true;
	for (let i = 0; i < t.begin.length; i++) {
		const b = t.begin[i];
		const e = b + t.dur[i];
		if (b >= end) break;
		if (e <= begin) continue;
		const r = t.row[i];
		if (t.dur[i] < px && b - (last[r] ?? -Infinity) < px) {
			all = false;
			continue;
		}
		last[r] = e;
		out.push(i);
	}
	return { list: out, all };
}

export function slicesAnswer(tl, begin, end, width, wanted) {
	const px = (end - begin) / width;
	const tick = Math.max(1, Math.floor(px / 8));
	const lo = begin - (end - begin);
	const hi = end + (end - begin);
	const names = new Map();
	const tracks = [];
	const counters = [];
	const cols = { dbegin: [], dur: [], name: [], event: [], row: [] };
	const origin = Math.max(0, Math.floor(lo));
	let lastEvent = 0;
	for (const t of tl.flat) {
		if (wanted && !wanted.has(t.track)) continue;
		const first = cols.row.length;
		if (t.kind === "counter") {
			const keep = t.t.map((_, i) => i).filter((i) => (t.t[i + 1] ?? Infinity) >= begin && t.t[i] <= end);
			counters.push({ track: t.track, t_ps: keep.map((i) => t.t[i]), value: keep.map((i) => t.value[i]) });
			tracks.push({ track: t.track, first, count: 0, complete: true });
			continue;
		}
		const { list, all } = visible(t, begin, end, px);
		let at = 0;
		for (const i of list) {
			const b = Math.max(t.begin[i], origin);
			const e = Math.min(t.begin[i] + t.dur[i], Math.ceil(hi));
			const bt = Math.floor((b - origin) / tick);
			cols.dbegin.push(bt - at);
			at = bt;
			cols.dur.push(Math.ceil((e - b) / tick));
			if (!names.has(t.label[i])) names.set(t.label[i], names.size);
			cols.name.push(names.get(t.label[i]));
			cols.event.push((t.first + i - lastEvent) >>> 0);
			lastEvent = t.first + i;
			cols.row.push(t.row[i]);
		}
		tracks.push({ track: t.track, first, count: list.length, complete: all });
	}
	return encode(
		{
			begin_ps: begin,
			end_ps: end,
			origin_ps: origin,
			tick_ps: tick,
			nslices: cols.row.length,
			tracks,
			names: [...names.keys()],
			counters,
			flows: [],
		},
		cols,
	);
}

export function encode(head, cols) {
	const n = head.nslices;
	const text = new TextEncoder().encode(JSON.stringify(head));
	const pad = (text.length + 3) & ~3;
	const buf = new ArrayBuffer((8 + pad + 17 * n + 3) & ~3);
	const view = new DataView(buf);
	new Uint8Array(buf).fill(32, 8, 8 + pad);
	view.setUint32(0, 0x314c5353, true);
	view.setUint32(4, text.length, true);
	new Uint8Array(buf, 8).set(text);
	const at = 8 + pad;
	["dbegin", "dur", "name", "event"].forEach((k, i) => new Uint32Array(buf, at + 4 * n * i, n).set(cols[k]));
	new Uint8Array(buf, at + 16 * n, n).set(cols.row);
	return buf;
}

function locate(tl, event) {
	for (const t of tl.flat)
		if (t.kind !== "counter" && event >= t.first && event < t.first + t.begin.length) return { t, i: event - t.first };
	return undefined;
}

function hit(t, i) {
	return {
		event: t.first + i,
		track: t.track,
		row: t.row[i],
		name: t.label[i],
		begin_ps: t.begin[i],
		dur_ps: t.dur[i],
	};
}

export function eventAnswer(tl, event) {
	const at = locate(tl, event);
	if (!at) return undefined;
	const { t, i } = at;
	const flows = [];
	for (const [direction, k] of [
		["in", i - 40],
		["out", i + 40],
	])
		if (k >= 0 && k < t.begin.length && i % 2 === 0) flows.push({ direction, ...hit(t, k) });
	return {
		...hit(t, i),
		self_ps: Math.round(t.dur[i] * 0.6),
		flows,
		args: [
			{ name: "tf_op", value: "jit(train_step)/jit(main)/transformer/layers_3/attention/dot_general:" },
			{ name: "hlo_category", value: "convolution fusion" },
			{ name: "bytes_accessed", value: 12582912 },
			{ name: "group_id", value: 3 },
			{
				name: "long_name",
				value: `%${t.label[i]} = bf16[8,1024,4096]{2,1,0:T(8,128)(2,1)} fusion(bf16[8,1024,1024]{2,1,0:T(8,128)(2,1)} %p0, bf16[1024,4096]{1,0:T(8,128)(2,1)} %p1), kind=kOutput, calls=%fused_computation.17, metadata={op_name="jit(train_step)/dot_general"}`,
			},
		],
	};
}

export function searchAnswer(tl, q, { after, before, from_ps, limit = 200 }) {
	const text = q.toLowerCase();
	const hits = [];
	for (const t of tl.flat)
		if (t.kind !== "counter")
			for (let i = 0; i < t.begin.length; i++) if (t.label[i].toLowerCase().includes(text)) hits.push(hit(t, i));
	hits.sort((a, b) => a.begin_ps - b.begin_ps || a.event - b.event);
	let first = 0;
	if (after !== undefined) first = hits.findIndex((h) => h.event === after) + 1;
	else if (from_ps !== undefined) first = hits.findIndex((h) => h.begin_ps >= from_ps);
	else if (before !== undefined) first = Math.max(0, hits.findIndex((h) => h.event === before) - limit);
	if (first < 0) first = hits.length;
	const list =
		before !== undefined
			? hits.slice(
					first,
					Math.max(
						0,
						hits.findIndex((h) => h.event === before),
					),
				)
			: hits.slice(first, first + limit);
	return { count: hits.length, rank: first, hits: list };
}

export function summaryAnswer(tl, begin, end, rows, limit = 200) {
	const want = rows
		? new Map(
				rows.split(",").map((p) => {
					const [, t, a, b] = /^(\d+):(\d+)-(\d+)$/.exec(p);
					return [Number(t), [Number(a), Number(b)]];
				}),
			)
		: undefined;
	const by = new Map();
	for (const t of tl.flat) {
		const range = want ? want.get(t.track) : [0, 255];
		if (!range || t.kind === "counter") continue;
		for (let i = 0; i < t.begin.length; i++) {
			if (t.begin[i] > end || t.begin[i] + t.dur[i] < begin || t.row[i] < range[0] || t.row[i] > range[1]) continue;
			const s = by.get(t.label[i]) ?? {
				name: t.label[i],
				count: 0,
				total_ps: 0,
				self_ps: 0,
				min_ps: Infinity,
				max_ps: 0,
				event: 0,
			};
			s.count++;
			s.total_ps += t.dur[i];
			s.self_ps += Math.round(t.dur[i] * 0.6);
			s.min_ps = Math.min(s.min_ps, t.dur[i]);
			if (t.dur[i] > s.max_ps) {
				s.max_ps = t.dur[i];
				s.event = t.first + i;
			}
			by.set(t.label[i], s);
		}
	}
	const names = [...by.values()]
		.sort((a, b) => b.total_ps - a.total_ps || (a.name < b.name ? -1 : 1))
		.map((s) => ({ ...s, avg_ps: s.total_ps / s.count }));
	const sum = (k) => names.reduce((a, n) => a + n[k], 0);
	return {
		count: sum("count"),
		total_ps: sum("total_ps"),
		self_ps: sum("self_ps"),
		nnames: names.length,
		names: names.slice(0, limit),
	};
}

/* ---- tables ---- */

const num = (label, unit, value, text) => ({ label, unit, value, text: text ?? String(value) });
const str = (text) => ({ label: "", unit: "", value: null, text });
const f64 = (id, label, unit, doc) => ({ id, label, type: "f64", unit, ...(doc ? { doc } : {}) });
const text = (id, label) => ({ id, label, type: "str", unit: "" });
const frame = (name, title, props, cols, data) => ({ name, title, props, cols, nrows: data[0]?.length ?? 0, data });

function stepTable(rnd) {
	const n = 60;
	const ids = [
		["tcComputeTimeMs", "TensorCore compute (in ms)", 31],
		["tcInfeedTimeMs", "TensorCore input (in ms)", 6.5],
		["tcOutfeedTimeMs", "TensorCore output (in ms)", 0.4],
		["tcIdleTimeMs", "TensorCore idle (in ms)", 2.2],
		["hostTransferTimeMs", "Host transfer (in ms)", 0.7],
	];
	const data = ids.map(([, , ms]) =>
		Array.from({ length: n }, (_, i) => ms * (0.85 + 0.3 * rnd()) * (i % 17 === 5 ? 1.5 : 1)),
	);
	const sums = data[0].map((_, i) => data.reduce((a, d) => a + d[i], 0));
	const infeed = data[1].map((v, i) => (v / sums[i]) * 100);
	const avg = (a) => a.reduce((x, y) => x + y, 0) / a.length;
	const props = {
		hardware_type: str("TPU"),
		step_time_graph_column_ids: str(`stepnum,${ids.map(([id]) => id).join(",")}, tooltip`),
		steptime_ms_average: num("Average step time", "ms", avg(sums)),
		steptime_ms_standard_deviation: num("", "ms", 2.31),
		steptime_ms_minimum: num("", "ms", Math.min(...sums)),
		steptime_ms_maximum: num("", "ms", Math.max(...sums)),
		infeed_percent_average: num("", "percent", avg(infeed)),
		infeed_percent_standard_deviation: num("", "percent", 1.2),
		infeed_percent_minimum: num("", "percent", Math.min(...infeed)),
		infeed_percent_maximum: num("", "percent", Math.max(...infeed)),
		input_conclusion: str("The program is moderately input-bound: 15.9% of the step time is spent waiting for input."),
		summary_nextstep: str("Look at the host side below for where the input's time goes."),
	};
	["tc_compute", "tc_infeed", "tc_outfeed", "tc_idle", "host_transfer"].forEach((k, i) => {
		props[`${k}_ms_average`] = num("", "ms", avg(data[i]));
	});
	return frame(
		"steps",
		"Steps",
		props,
		[
			text("stepnum", "Step"),
			...ids.map(([id, l]) => f64(id, l, "ms")),
			f64("infeedPercentAverage", "% step time waiting for input data", "percent"),
			f64("infeedPercentMin", "Infeed percent min", "percent"),
			f64("infeedPercentMax", "Infeed percent max", "percent"),
		],
		[
			Array.from({ length: n }, (_, i) => String(i + 100)),
			...data,
			infeed,
			infeed.map((v) => v * 0.8),
			infeed.map((v) => v * 1.25),
		],
	);
}

const result = (tool, title, run, host, tables, notes = []) => ({ tool, title, run, host, notes, tables });

const DEEP = [
	"dense/dot_general",
	"transpose(jvp(attention))/dot_general",
	"layer_norm/reduce_sum",
	"softmax/exp",
	"psum",
	"gather",
	"mlp/gelu/mul",
	"copy.14",
	"embed/take",
	"adam/mul",
];

const INPUT_BOUND =
	"The program is moderately input-bound: 15.9% of the step time is spent waiting for input, so both the input and the computation are worth work.";

export function overviewAnswer(run, host) {
	const rnd = random(3);
	const share = [0.312, 0.214, 0.101, 0.087, 0.071, 0.05, 0.041, 0.03, 0.021, 0.012];
	let sum = 0;
	const analysis = frame(
		"analysis",
		"Top operations",
		{
			device_duty_cycle_percent: num("Duty cycle", "percent", 81.4, "81.4%"),
			mxu_utilization_percent: num("", "percent", 43.2, "43.2%"),
			hbm_utilization_percent: num("", "percent", 28.9, "28.9%"),
			device_idle_time_percent: num("", "percent", 5.6, "5.6%"),
			host_idle_time_percent: num("", "percent", 88.2, "88.2%"),
			host_tf_op_percent: num("", "percent", 0.4, "0.4%"),
			device_tf_op_percent: num("", "percent", 99.6, "99.6%"),
			host_op_time_eager_percent: num("", "percent", 0, "0.0%"),
			device_op_time_eager_percent: num("", "percent", 0, "0.0%"),
			remark_text: str(""),
		},
		[
			f64("selfTimePercent", "Time (%)", "frac"),
			f64("cumulativeTimePercent", "Cumulative time (%)", "frac"),
			text("category", "Category"),
			text("operation", "Operation"),
			f64("flopRate", "FLOP rate (GFLOPs/Sec)", "gflop_per_s"),
		],
		[
			share,
			share.map((s) => (sum += s)),
			["dot_general", "dot_general", "reduce_sum", "exp", "psum", "gather", "mul", "copy", "take", "mul"],
			DEEP.map((d) => `jit(train_step)/transformer/layers/${d}`),
			share.map((s) => Math.round(s * 310000)),
		],
	);
	const recommendation = frame(
		"recommendation",
		"Recommendation",
		{
			bottleneck: str("both"),
			statement: str(INPUT_BOUND),
			non_bottleneck_tip_types: str(""),
		},
		[text("tip_type", "tip_type"), text("link", "link"), text("description", "description")],
		[
			["host", "host", "device", "device", "doc"],
			[
				"input_pipeline_analyzer (host side: where the input's time goes)",
				"trace_viewer (activity of the host's threads)",
				"framework_op_stats (the operations that take the most time)",
				"trace_viewer (activity of each core)",
				'<a href="https://www.tensorflow.org/guide/data_performance" target="_blank">Better performance with the tf.data API</a>',
			],
			[
				"Reduce the host's time",
				"Reduce the host's time",
				"Reduce the device's time",
				"Reduce the device's time",
				"Further reading",
			],
		],
	);
	const env = frame(
		"run_environment",
		"Run environment",
		{
			host_count: num("", "count", 1, "1"),
			task_count: str("1 (num tasks per host = 1)"),
			device_type: str("TPU v6 Lite"),
			device_core_count: str("8"),
			is_training: str("true"),
		},
		["host_id", "command_line", "start_time", "bns_address"].map((i) => text(i, i)),
		[[], [], [], []],
	);
	const conclusion = { text: INPUT_BOUND, more: [], mood: "warn", see: "" };
	const overview = result("overview_page", "Overview", run, host, [
		analysis,
		stepTable(rnd),
		env,
		recommendation,
		frame(
			"inference_latency",
			"Inference latency",
			{},
			[text("percentile", "percentile"), f64("hostTimeMs", "Host", "ms")],
			[[], []],
		),
		frame(
			"diagnostics",
			"Diagnostics",
			{},
			[text("severity", "Severity"), text("message", "Message")],
			[["WARNING"], ["2 of 62 steps were incomplete and are left out."]],
		),
	]);
	return { ...overview, conclusion };
}

export function inputAnswer(run, host) {
	const names = [
		"Iterator::Root::Prefetch::BatchV2::ForeverRepeat[0]::ParallelMapV2",
		"Iterator::Root::Prefetch",
		"Iterator::Root::Prefetch::BatchV2",
		"Iterator::Root::Prefetch::BatchV2::TFRecord",
	];
	const t = [192.6, 158.5, 61.2, 33.1];
	const sum = t.reduce((a, b) => a + b, 0);
	return result("input_pipeline_analyzer", "Input pipeline", run, host, [
		frame(
			"max_infeed_core",
			"Slowest core",
			{},
			[text("index", "index"), ...Array.from({ length: 60 }, (_, i) => text(String(i), String(i)))],
			[
				["Step number", "Core name"],
				...Array.from({ length: 60 }, (_, i) => [String(i + 100), i % 9 ? "host0:1" : "host0:0"]),
			],
		),
		stepTable(random(3)),
		frame(
			"host_ops",
			"Input operations",
			{
				enqueue_us: num("", "us", 31200),
				demanded_file_read_us: num("", "us", 33100),
				advanced_file_read_us: num("", "us", 8100),
				preprocessing_us: num("", "us", 354000),
				unclassified_nonequeue_us: num("", "us", 0),
			},
			[
				text("opName", "Input Op"),
				f64("count", "Count", "count"),
				f64("timeInMs", "Total Time (in ms)", "ms"),
				f64("timeInPercent", "Total Time (%)", "frac"),
				f64("selfTimeInMs", "Total Self Time (in ms)", "ms"),
				f64("selfTimeInPercent", "Total Self Time (%)", "frac"),
				text("category", "Category"),
			],
			[
				names,
				[233, 15, 15, 480],
				t,
				t.map((v) => v / sum),
				t,
				t.map((v) => v / sum),
				["Preprocessing", "Preprocessing", "Preprocessing", "Demanded file read"],
			],
		),
		frame(
			"recommendations",
			"Recommendations",
			{},
			[text("link", "link")],
			[
				[
					"Enqueuing: combine small chunks into fewer, larger ones.",
					'Preprocessing: raise num_parallel_calls of <a href="https://www.tensorflow.org/api_docs/python/tf/data/Dataset#map">map()</a>, or prepare the data once, offline.',
				],
			],
		),
		frame("diagnostics", "Diagnostics", {}, [text("severity", "Severity"), text("message", "Message")], [[], []]),
	]);
}

export function opStatsAnswer(run, host, nrows = 20000) {
	const rnd = random(11);
	const rows = Array.from({ length: nrows }, (_, i) => ({
		rank: i + 1,
		place: i % 9 === 0 ? "Host" : "Device",
		type: DEEP[i % 10].split("/").pop(),
		op:
			i < 10
				? `jit(train_step)/transformer/layers/${DEEP[i]}`
				: `jit(train_step)/transformer/layers_${i % 48}/${DEEP[i % 10]}.${i}`,
		n: 60 + (i % 7),
		self: (4e6 / (i + 1) ** 1.1) * (0.8 + 0.4 * rnd()),
	}));
	const sum = rows.reduce((a, r) => a + r.self, 0);
	return result("framework_op_stats", "Framework op stats", run, host, [
		frame(
			"ops",
			"Operations",
			{ architecture_type: str("TPU"), task_type: str("Training") },
			[
				f64("rank", "Rank", "count"),
				text("host_or_device", "Host/device"),
				text("type", "Operation Type"),
				text("operation", "Operation Name"),
				f64("occurrences", "#Occurrences", "count"),
				f64("total_time", "Total time (us)", "us"),
				f64("total_self_time", "Total self-time (us)", "us"),
				f64("device_total_self_time_percent", "Total self-time on Device (%)", "frac"),
				f64("measured_flop_rate", "Normalized FLOP Rate (GFLOP/s)", "gflop_per_s"),
				f64("operational_intensity", "Operational Intensity (FLOPs/Byte)", "flop_per_byte"),
				text("bound_by", "Bound by"),
			],
			[
				rows.map((r) => r.rank),
				rows.map((r) => r.place),
				rows.map((r) => r.type),
				rows.map((r) => r.op),
				rows.map((r) => r.n),
				rows.map((r) => r.self * 1.2),
				rows.map((r) => r.self),
				rows.map((r) => r.self / sum),
				rows.map(() => rnd() * 90000),
				rows.map(() => rnd() * 220),
				rows.map((r) => (r.rank % 3 ? "HBM" : "Compute")),
			],
		),
	]);
}

export const tools = [
	[
		"overview_page",
		"Overview",
		"Step time, utilization, top operations and what to do next",
		"tables",
		["ALL_HOSTS", "host0"],
	],
	[
		"input_pipeline_analyzer",
		"Input pipeline",
		"Is the program input-bound, and why",
		"tables",
		["ALL_HOSTS", "host0"],
	],
	[
		"framework_op_stats",
		"Framework op stats",
		"Time of every framework operation on host and device",
		"tables",
		["ALL_HOSTS", "host0"],
	],
	["trace_viewer@", "Trace viewer", "All events on a timeline", "timeline", ["host0"]],
].map(([name, title, summary, kind, hosts]) => ({
	name,
	title,
	summary,
	kind,
	preset_host: hosts[0],
	hosts,
	params: [],
	available: true,
	why: "",
}));
tools.push({
	name: "memory_profile",
	title: "Memory profile",
	summary: "Memory over time",
	kind: "tables",
	preset_host: "host0",
	hosts: ["host0"],
	params: [],
	available: false,
	why: "This profile has no memory events.",
});

export const runs = {
	version: "0.1.0",
	logdir: "/logs/transformer",
	runs: [
		{
			run: "2024_11_02_03_51_07",
			path: "plugins/profile/2024_11_02_03_51_07",
			time_s: 1730519467,
			bytes: 812345678,
			hosts: ["host0"],
		},
		{
			run: "2024_11_01_22_10_44",
			path: "plugins/profile/2024_11_01_22_10_44",
			time_s: 1730499044,
			bytes: 41234567,
			hosts: ["host0", "host1", "host2", "host3", "host4", "host5"],
		},
	],
};

export function runAnswer(steps) {
	const facts = { device: "TPU v5 lite", hardware: "TPU", cores: 2, hosts: 1, training: true };
	return steps
		? { ...facts, steps: 40, step_ms: 20.6, step_ms_deviation: 0.8, input_percent: 12, bottleneck: "both" }
		: facts;
}

/* As /api/shares of the real server, for one table of a result. */
export function sharesAnswer(result, q) {
	if (q.get("props")) {
		const ids = q.get("props").split(",");
		const sums = ids.map((id) => Number(result.tables.map((t) => t.props?.[id]?.value).find((v) => v !== undefined) ?? 0));
		const total = sums.reduce((a, v) => a + v, 0);
		const top = ids.map((name, i) => ({ name, sum: sums[i], frac: total ? sums[i] / total : 0 }));
		return { unit: "", greatest: null, divisions: [{ by: "", total, groups: ids.length, rest: 0, rest_frac: 0, top }] };
	}
	const t = result.tables[Number(q.get("table") ?? 0)] ?? result.tables[0];
	const col = (id) => t.data[t.cols.findIndex((c) => c.id === id)] ?? [];
	const value = col(q.get("value"));
	const only = (i) => !q.get("where") || String(col(q.get("where"))[i]) === q.get("is");
	const rows = value.map((_, i) => i).filter((i) => value[i] > 0 && only(i));
	const total = rows.reduce((a, i) => a + value[i], 0);
	const names = col(q.get("name"));
	const best = rows.filter((i) => names[i] !== "IDLE").reduce((x, i) => (x < 0 || value[i] > value[x] ? i : x), -1);
	const divisions = (q.get("by") || "").split(",").filter(Boolean).map((by) => {
		const sums = new Map();
		for (const i of rows) sums.set(String(col(by)[i]), (sums.get(String(col(by)[i])) ?? 0) + value[i]);
		const all = [...sums].map(([name, sum]) => ({ name, sum, frac: sum / total })).sort((a, b) => b.sum - a.sum);
		const rest = all.slice(6).reduce((a, x) => a + x.sum, 0);
		return { by, total, groups: all.length, rest, rest_frac: total ? rest / total : 0, top: all.slice(0, 6) };
	});
	return {
		unit: t.cols.find((c) => c.id === q.get("value"))?.unit ?? "",
		greatest: best < 0 ? null : { name: names[best], value: value[best], frac: value[best] / total },
		divisions,
	};
}
