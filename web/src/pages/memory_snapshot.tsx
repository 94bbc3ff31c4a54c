/*
 * memory_snapshot.tsx - a memory snapshot: allocations over time, each a band as high as it is large, by the code that asked for it; who had
 * memory at the peak, what grew, why it ran out.
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { column, numbers, strings, table } from "../api/table";
import type { Cell, Result, TableData } from "../api/types";
import { mix, nameColor, pixel } from "../base/color";
import { useSize } from "../base/dom";
import { bytes, time_ps } from "../base/format";
import { useTheme } from "../base/theme";
import { adjust, useQuery } from "../base/url";
import { Flame } from "../chart/flame";
import { Verdict } from "../widgets/conclusion";
import { Grid } from "../widgets/grid";
import { Notes } from "../widgets/notes";
import { AnswerPage } from "./answer";
import { csvAddress, type Session } from "./session";

export function MemorySnapshotPage({ session }: { session: Session }) {
	return <AnswerPage session={session}>{(result) => <Snapshot result={result} session={session} />}</AnswerPage>;
}

/* The rows of one device, without the column that says so. */
function ofDevice(t: TableData | undefined, device: string): TableData | undefined {
	const ids = strings(t, "device");
	if (!t || !ids) return t;
	const rows = ids.flatMap((v, i) => (v === device ? [i] : []));
	const now = new Map(rows.map((row, i) => [row, i])); /* parents are numbers of rows */
	const cell = (id: string, v: Cell) => (id === "parent" && typeof v === "number" ? (now.get(v) ?? -1) : v);
	return { ...t, nrows: rows.length, data: t.data.map((values, c) => rows.map((i) => cell(t.cols[c]?.id ?? "", values[i] ?? null))) };
}

const TABLES = ["oom", "frames", "growth", "stacks", "segments", "blocks", "kinds"] as const;

function Snapshot({ result, session }: { result: Result; session: Session }) {
	const summary = table(result, "summary");
	const devices = strings(summary, "device") ?? [];
	const names = strings(summary, "device_name") ?? [];
	const asked = useQuery("device");
	const device = devices.includes(asked) ? asked : (devices[0] ?? "");
	const allocations = useMemo(() => ofDevice(table(result, "allocations"), device), [result, device]);
	const timeline = useMemo(() => ofDevice(table(result, "timeline"), device), [result, device]);
	return (
		<>
			<Notes notes={result.notes} />
			<Verdict of={result.conclusion} tools={session.toolNames}>
				{devices.length > 1 && (
					<label class="field">
						Device
						<select class="select" value={device} onChange={(e) => adjust({ device: e.currentTarget.value })}>
							{devices.map((d, i) => (
								<option key={d} value={d}>
									{names[i] ? `${d}: ${names[i]}` : d}
								</option>
							))}
						</select>
					</label>
				)}
			</Verdict>
			{allocations && timeline && timeline.nrows > 1 && (
				<section class="card" aria-label="Allocations over time">
					<h2>Allocations over time</h2>
					<Bands key={device} allocations={allocations} timeline={timeline} />
				</section>
			)}
			<Part t={ofDevice(summary, device)} session={session} />
			<PeakTree t={ofDevice(table(result, "flame"), device)} />
			{TABLES.map((name) => (
				<Part key={name} t={ofDevice(table(result, name), device)} session={session} />
			))}
		</>
	);
}

/* What was in use at the peak, by tree of frames. */
function PeakTree({ t }: { t: TableData | undefined }) {
	if (!t || !t.nrows) return null;
	return (
		<section class="card" aria-label={t.title}>
			<h2>{t.title}</h2>
			<Flame table={t} />
		</section>
	);
}

function Part({ t, session }: { t: TableData | undefined; session: Session }) {
	if (!t || !t.nrows) return null;
	return (
		<section class="card" aria-label={t.title}>
			<h2>{t.title}</h2>
			<Grid table={t} maxRows={16} csv={csvAddress(session, t.name)} />
		</section>
	);
}

const HEIGHT = 320;

interface Band {
	row: number;
	begin: number;
	end: number;
	size: number;
}

/* The allocations in the order in which they stack, the oldest at the bottom. */
function bandsOf(t: TableData): Band[] {
	const size = numbers(t, "size_bytes") ?? [];
	const begin = numbers(t, "begin_us") ?? [];
	const end = numbers(t, "end_us") ?? [];
	const order = numbers(t, "order") ?? [];
	return size
		.map((s, row) => ({
			row,
			size: s,
			begin: Number.isFinite(begin[row]) ? (begin[row] ?? 0) : -Infinity,
			end: Number.isFinite(end[row]) ? (end[row] ?? 0) : Infinity,
		}))
		.sort((a, b) => (order[a.row] ?? 0) - (order[b.row] ?? 0));
}

/* For each column of pixels what is in use then: all of it, and of each band shown where it begins. */
function paint(bands: readonly Band[], colors: readonly number[], line: (us: number) => number, view: View, out: Uint32Array, rows: Int32Array) {
	const { width, height, first, span, most } = view;
	for (let x = 0; x < width; x++) {
		const at = first + ((x + 0.5) / width) * span;
		let sum = 0;
		for (let i = 0; i < bands.length; i++) {
			const b = bands[i];
			if (!b || b.begin > at || b.end <= at) continue;
			const from = Math.round(height - (sum / most) * height);
			sum += b.size;
			const to = Math.max(0, Math.round(height - (sum / most) * height));
			for (let y = to; y < from; y++) {
				out[y * width + x] = colors[i] ?? 0;
				rows[y * width + x] = b.row;
			}
		}
		/* What is not among the largest. */
		const all = line(at);
		for (let y = Math.max(0, Math.round(height - (all / most) * height)); y < Math.round(height - (sum / most) * height); y++)
			out[y * width + x] = view.rest;
	}
}

interface View {
	width: number;
	height: number;
	first: number;
	span: number;
	most: number;
	rest: number;
}

function Bands({ allocations, timeline }: { allocations: TableData; timeline: TableData }) {
	const dark = useTheme().dark;
	const [box, size] = useSize<HTMLDivElement>();
	const canvas = useRef<HTMLCanvasElement>(null);
	const rows = useRef<Int32Array>(new Int32Array(0));
	const [over, setOver] = useState(-1);
	const width = Math.floor(size.width);
	const bands = useMemo(() => bandsOf(allocations), [allocations]);
	const frames = strings(allocations, "frame") ?? [];
	const time = numbers(timeline, "time_us") ?? [];
	const used = numbers(timeline, "allocated_bytes") ?? [];
	const first = time[0] ?? 0;
	const span = Math.max(1, (time[time.length - 1] ?? 1) - first);
	const most = Math.max(1, ...used) * 1.02;
	useEffect(() => {
		const to = canvas.current?.getContext("2d");
		if (!to || width < 50) return;
		const image = to.createImageData(width, HEIGHT);
		const out = new Uint32Array(image.data.buffer);
		rows.current = new Int32Array(width * HEIGHT).fill(-1);
		let at = 0;
		const line = (us: number) => {
			while (at + 1 < time.length && (time[at + 1] ?? 0) <= us) at++;
			return used[at] ?? 0;
		};
		const colors = bands.map((b) => {
			const c = nameColor(frames[b.row] ?? "", dark);
			return over >= 0 && (frames[b.row] ?? "") === frames[over] ? mix(c, dark ? pixel(255, 255, 255) : pixel(0, 0, 0), 0.35) : c;
		});
		const rest = dark ? pixel(60, 66, 76) : pixel(214, 219, 226);
		paint(bands, colors, line, { width, height: HEIGHT, first, span, most, rest }, out, rows.current);
		to.putImageData(image, 0, 0);
	}, [bands, width, dark, over]);
	const point = (e: MouseEvent) => {
		const at = (e.currentTarget as HTMLElement).getBoundingClientRect();
		const x = Math.floor(e.clientX - at.left);
		const y = Math.floor(e.clientY - at.top);
		setOver(rows.current[y * width + x] ?? -1);
	};
	const value = (id: string) => Number(column(allocations, id)?.[over] ?? NaN);
	const when = (id: string, otherwise: string) => (Number.isFinite(value(id)) ? time_ps(value(id) * 1e6) : otherwise);
	return (
		<>
			<div ref={box} class="snapshot-bands">
				<canvas
					ref={canvas}
					width={width}
					height={HEIGHT}
					role="img"
					aria-label="Allocations over time"
					onMouseMove={point}
					onMouseLeave={() => setOver(-1)}
				/>
			</div>
			<p class="muted snapshot-over">
				{over < 0
					? `Up to ${bytes(most / 1.02)} in ${time_ps(span * 1e6)}. Point at a band to see which code allocated it. Smaller allocations are grey.`
					: `${bytes(value("size_bytes"))} of ${frames[over] ?? ""}, from ${when("begin_us", "before the recording")} to ${when("end_us", "the end")}`}
			</p>
		</>
	);
}
