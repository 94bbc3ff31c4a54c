/*
 * slices.ts - the binary answer of /api/timeline/slices, decoded into one array set per track.
 *
 * Within a track the slices are put into the order of their rows, so that a row is one contiguous stretch sorted by
 * begin: drawing walks it once, and the slice under the pointer is found by halving. Slices of a row do not overlap.
 */

export interface TrackSlices {
	track: number;
	begin_ps: number; /* the window that was asked for */
	end_ps: number;
	resolution_ps: number; /* time of one pixel of that window: what is shorter may be missing */
	complete: boolean; /* nothing of this track is missing in the window */
	origin_ps: number;
	tick_ps: number;
	begin: Uint32Array; /* ticks after origin_ps, by row, then by begin */
	dur: Uint32Array; /* ticks */
	name: Uint32Array; /* index into `names` */
	event: Uint32Array;
	rowFirst: Uint32Array; /* row r: rowFirst[r] .. rowFirst[r + 1] */
	names: readonly string[];
	counter: Counter | undefined;
}

export interface Counter {
	t_ps: Float64Array;
	value: Float64Array;
}

/*
 * The same columns in an object of one shape, whoever made it. Browsers compile the drawing for the shapes of what it draws, and for
 * whether a field ever held a fraction; each new one costs a frame of 10 ms and more, drawn by an interpreter.
 */
export function shaped(t: TrackSlices): TrackSlices {
	return {
		track: t.track,
		begin_ps: t.begin_ps,
		end_ps: t.end_ps,
		resolution_ps: t.resolution_ps,
		complete: t.complete,
		origin_ps: t.origin_ps,
		tick_ps: t.tick_ps,
		begin: t.begin,
		dur: t.dur,
		name: t.name,
		event: t.event,
		rowFirst: t.rowFirst,
		names: t.names,
		counter: t.counter,
	};
}

export interface Flow {
	id: number;
	from: FlowPoint;
	to: FlowPoint;
}

export interface FlowPoint {
	track: number;
	row: number;
	begin_ps: number;
	dur_ps: number;
}

export interface SlicesAnswer {
	tracks: TrackSlices[];
	flows: Flow[];
}

interface Head {
	begin_ps: number;
	end_ps: number;
	origin_ps: number;
	tick_ps: number;
	nslices: number;
	tracks: { track: number; first: number; count: number; complete?: boolean }[];
	names: string[];
	counters?: { track: number; t_ps: number[]; value: number[]; complete?: boolean }[];
	flows?: { id: number; from: number; to: number }[];
}

const MAGIC = 0x314c5353; /* "SSL1", little endian */
const NO_SLICES = new Uint32Array(0);

/* Fractions in all fields that may hold some, and both kinds of tracks: then no later answer is a surprise. */
for (const counter of [undefined, { t_ps: new Float64Array(0), value: new Float64Array(0) }])
	shaped({
		track: 0,
		begin_ps: 0.5,
		end_ps: 0.5,
		resolution_ps: 0.5,
		complete: false,
		origin_ps: 0.5,
		tick_ps: 0.5,
		begin: NO_SLICES,
		dur: NO_SLICES,
		name: NO_SLICES,
		event: NO_SLICES,
		rowFirst: NO_SLICES,
		names: [],
		counter,
	});

export function decodeSlices(buf: ArrayBuffer, width_px: number): SlicesAnswer {
	const view = new DataView(buf);
	if (buf.byteLength < 8 || view.getUint32(0, true) !== MAGIC)
		throw new Error("The server's answer is not a timeline.");
	const headLen = view.getUint32(4, true);
	if (8 + headLen > buf.byteLength) throw new Error("The server's timeline answer was cut short.");
	const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buf, 8, headLen))) as Head;
	const n = head.nslices;
	const at = 8 + ((headLen + 3) & ~3);
	if (at + 17 * n > buf.byteLength) throw new Error("The server's timeline answer was cut short.");
	const dbegin = new Uint32Array(buf, at, n);
	const dur = new Uint32Array(buf, at + 4 * n, n);
	const name = new Uint32Array(buf, at + 8 * n, n);
	const devent = new Uint32Array(buf, at + 12 * n, n);
	const row = new Uint8Array(buf, at + 16 * n, n);

	const event = new Uint32Array(n);
	for (let i = 0, e = 0; i < n; i++) {
		e = (e + (devent[i] ?? 0)) >>> 0;
		event[i] = e;
	}
	const begin = new Uint32Array(n);
	const resolution_ps = (head.end_ps - head.begin_ps) / Math.max(1, width_px);
	const window = {
		begin_ps: head.begin_ps,
		end_ps: head.end_ps,
		resolution_ps,
		origin_ps: head.origin_ps,
		tick_ps: head.tick_ps,
		names: head.names,
	};
	const tracks: TrackSlices[] = [];
	for (const t of head.tracks) {
		const end = t.first + t.count;
		if (t.first < 0 || end > n) throw new Error("The server's timeline answer is inconsistent.");
		for (let i = t.first, b = 0; i < end; i++) {
			b += dbegin[i] ?? 0;
			begin[i] = b;
		}
		tracks.push({
			...window,
			track: t.track,
			complete: t.complete === true,
			counter: undefined,
			...byRow(t.first, end, row, begin, dur, name, event),
		});
	}
	for (const c of head.counters ?? []) {
		const old = tracks.find((t) => t.track === c.track);
		const counter = { t_ps: Float64Array.from(c.t_ps), value: Float64Array.from(c.value) };
		if (old) old.counter = counter;
		else
			tracks.push({
				...window,
				track: c.track,
				complete: c.complete === true,
				counter,
				begin: NO_SLICES,
				dur: NO_SLICES,
				name: NO_SLICES,
				event: NO_SLICES,
				rowFirst: new Uint32Array(1),
			});
	}
	return { tracks, flows: flowsOf(head, row, begin, dur) };
}

/* A counting sort: stable, so each row keeps the order of begins. */
function byRow(
	first: number,
	end: number,
	row: Uint8Array,
	begin: Uint32Array,
	dur: Uint32Array,
	name: Uint32Array,
	event: Uint32Array,
) {
	let rows = 0;
	for (let i = first; i < end; i++) if ((row[i] ?? 0) >= rows) rows = (row[i] ?? 0) + 1;
	const rowFirst = new Uint32Array(rows + 1);
	for (let i = first; i < end; i++) {
		const r = (row[i] ?? 0) + 1;
		rowFirst[r] = (rowFirst[r] ?? 0) + 1;
	}
	for (let r = 1; r <= rows; r++) rowFirst[r] = (rowFirst[r] ?? 0) + (rowFirst[r - 1] ?? 0);
	const next = rowFirst.slice();
	const count = end - first;
	const out = {
		begin: new Uint32Array(count),
		dur: new Uint32Array(count),
		name: new Uint32Array(count),
		event: new Uint32Array(count),
		rowFirst,
	};
	for (let i = first; i < end; i++) {
		const r = row[i] ?? 0;
		const k = next[r] ?? 0;
		next[r] = k + 1;
		out.begin[k] = begin[i] ?? 0;
		out.dur[k] = dur[i] ?? 0;
		out.name[k] = name[i] ?? 0;
		out.event[k] = event[i] ?? 0;
	}
	return out;
}

function flowsOf(head: Head, row: Uint8Array, begin: Uint32Array, dur: Uint32Array): Flow[] {
	const trackOf = (i: number) => head.tracks.find((t) => i >= t.first && i < t.first + t.count)?.track ?? -1;
	const point = (i: number): FlowPoint => ({
		track: trackOf(i),
		row: row[i] ?? 0,
		begin_ps: head.origin_ps + (begin[i] ?? 0) * head.tick_ps,
		dur_ps: (dur[i] ?? 0) * head.tick_ps,
	});
	return (head.flows ?? [])
		.map((f) => ({ id: f.id, from: point(f.from), to: point(f.to) }))
		.filter((f) => f.from.track >= 0 && f.to.track >= 0);
}

/* Last slice of row `r` that begins at or before `ps`, or the row's first; -1 for an empty row. */
export function sliceAt(t: TrackSlices, r: number, ps: number): number {
	let lo = t.rowFirst[r] ?? 0;
	let hi = t.rowFirst[r + 1] ?? 0;
	if (lo >= hi) return -1;
	const tick = (ps - t.origin_ps) / t.tick_ps;
	while (hi - lo > 1) {
		const mid = (lo + hi) >>> 1;
		if ((t.begin[mid] ?? 0) <= tick) lo = mid;
		else hi = mid;
	}
	return lo;
}

export function beginOf(t: TrackSlices, i: number): number {
	return t.origin_ps + (t.begin[i] ?? 0) * t.tick_ps;
}

export function durOf(t: TrackSlices, i: number): number {
	return (t.dur[i] ?? 0) * t.tick_ps;
}
