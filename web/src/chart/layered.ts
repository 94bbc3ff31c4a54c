/*
 * layered.ts - where to put the nodes of a directed graph with boxes: layers from top to bottom, edges downwards.
 *
 * Each box is laid out for itself and then is one node of what it stands in. Layers by the longest way from the sources; an edge over
 * several layers keeps a place free in each of them and is drawn through these; the order in a layer is by the mean place of the neighbours
 * (Sugiyama 1981); then every node moves as near to its neighbours as the order allows (isotonic regression, which is linear).
 */
export interface Node {
	w: number;
	h: number; /* of boxes: as little as its title needs; what is inside makes it larger */
	box: number; /* the box it stands in, -1 for none; a box stands behind the box that it stands in */
}

export interface Edge {
	from: number;
	to: number;
}

export interface Place {
	x: number;
	y: number;
	w: number;
	h: number;
}

export interface Drawing {
	w: number;
	h: number;
	nodes: Place[];
	boxes: Place[];
	ways: number[][]; /* of each edge: x, y, x, y … from the end of one node to the begin of the other */
}

export interface Spacing {
	across: number;
	down: number;
	title: number; /* kept free at the top of a box */
	pad: number;
}

const SPACING: Spacing = { across: 22, down: 34, title: 30, pad: 14 };
const SWEEPS = 8;
/* Long edges beyond that many places are drawn straight. */
const MOST_PLACES = 30_000;

interface Item {
	what: number; /* a node, nnodes + a box, or -1: a place on the way of a long edge */
	w: number;
	h: number;
	layer: number;
	rank: number; /* in its layer */
	x: number; /* of the middle */
	up: number[];
	down: number[];
}

interface Link {
	from: number;
	to: number;
	places: number[];
}

export function layered(nodes: readonly Node[], boxes: readonly Node[], edges: readonly Edge[], spacing = SPACING): Drawing {
	const n = nodes.length;
	const place = (s: Node): Place => ({ x: 0, y: 0, w: s.w, h: s.h });
	const out: Drawing = { w: 0, h: 0, nodes: nodes.map(place), boxes: boxes.map(place), ways: edges.map(() => []) };
	const parent = (what: number) => (what < n ? nodes[what]?.box : boxes[what - n]?.box) ?? -1;
	const at = (what: number) => (what < n ? out.nodes[what] : out.boxes[what - n]) as Place;
	const inside: number[][] = Array.from({ length: boxes.length + 1 }, () => []);
	for (let i = 0; i < n + boxes.length; i++) inside[parent(i) + 1]?.push(i);
	const split = levels(parent, n, boxes.length, edges);
	let budget = MOST_PLACES;
	const bends: { edge: number; box: number; points: number[] }[] = [];
	for (let box = boxes.length - 1; box >= -1; box--) {
		const level = new Level(inside[box + 1] ?? [], at, split[box + 1] ?? [], budget);
		budget -= level.items.length;
		const size = level.run(spacing);
		for (const it of level.items)
			if (it.what >= 0) Object.assign(at(it.what), { x: it.x - it.w / 2, y: level.top(it) });
		for (const l of level.wayLinks()) bends.push({ ...l, box });
		if (box < 0) Object.assign(out, { w: size.w, h: size.h });
		else {
			const b = out.boxes[box] as Place;
			b.w = Math.max(b.w, size.w + 2 * spacing.pad);
			b.h = size.h + spacing.title + spacing.pad;
		}
	}
	moveInside(out, parent, at, n, spacing);
	const shift = (box: number) => {
		const b = out.boxes[box];
		return b ? [b.x + spacing.pad, b.y + spacing.title] : [0, 0];
	};
	const via = new Map(bends.map((b) => [b.edge, b]));
	edges.forEach((e, i) => {
		const a = out.nodes[e.from];
		const z = out.nodes[e.to];
		if (!a || !z) return;
		const b = via.get(i);
		const [dx = 0, dy = 0] = b ? shift(b.box) : [];
		const middle = (b?.points ?? []).map((v, k) => v + (k % 2 ? dy : dx));
		out.ways[i] = [a.x + a.w / 2, a.y + a.h, ...middle, z.x + z.w / 2, z.y];
	});
	spread(out, edges);
	return out;
}

/* Edges that end at one side of a node share it, in the order of where they come from or go to. */
function spread(out: Drawing, edges: readonly Edge[]): void {
	for (const end of ["from", "to"] as const) {
		const at = new Map<number, { way: number[]; toward: number }[]>();
		edges.forEach((e, i) => {
			const way = out.ways[i] ?? [];
			if (way.length < 4) return;
			const list = at.get(e[end]) ?? [];
			at.set(e[end], list);
			list.push({ way, toward: (end === "from" ? way[2] : way[way.length - 4]) ?? 0 });
		});
		for (const [node, list] of at) {
			const p = out.nodes[node];
			if (!p || list.length < 2) continue;
			list.sort((a, b) => a.toward - b.toward);
			const room = Math.min(p.w * 0.8, list.length * 40);
			list.forEach(({ way }, k) => {
				way[end === "from" ? 0 : way.length - 2] = p.x + p.w / 2 + room * ((k + 0.5) / list.length - 0.5);
			});
		}
	}
}

/* Each edge belongs to the innermost box that holds both ends; there it connects the two items that the ends stand in. */
function levels(parent: (what: number) => number, n: number, nboxes: number, edges: readonly Edge[]) {
	const out: { edge: number; from: number; to: number }[][] = Array.from({ length: nboxes + 1 }, () => []);
	const way = (what: number) => {
		const list = [what];
		for (let b = parent(what); b >= 0; b = parent(n + b)) list.push(n + b);
		return list;
	};
	edges.forEach((e, edge) => {
		if (e.from === e.to) return;
		const a = way(e.from);
		const z = way(e.to);
		let i = a.length - 1;
		let k = z.length - 1;
		while (i >= 0 && k >= 0 && a[i] === z[k]) {
			i--;
			k--;
		}
		const from = a[i];
		const to = z[k];
		if (from === undefined || to === undefined) return;
		out[parent(from) + 1]?.push({ edge, from, to });
	});
	return out;
}

/* Boxes were laid out each from 0, 0: the outer ones first, the others move with them. */
function moveInside(
	out: Drawing,
	parent: (what: number) => number,
	at: (what: number) => Place,
	n: number,
	spacing: Spacing,
): void {
	const move = (what: number) => {
		const p = at(what);
		const b = out.boxes[parent(what)];
		if (!b) return;
		p.x += b.x + spacing.pad;
		p.y += b.y + spacing.title;
	};
	for (let i = 0; i < out.boxes.length; i++) move(n + i);
	for (let i = 0; i < n; i++) move(i);
}

class Level {
	items: Item[];
	private links: Link[] = [];
	private layers: Item[][] = [];
	private tops: number[] = [];
	private heights: number[] = [];
	private readonly ends: Map<number, { link: number; turned: boolean }> = new Map();

	constructor(
		whats: readonly number[],
		at: (what: number) => Place,
		edges: readonly { edge: number; from: number; to: number }[],
		private budget: number,
	) {
		const index = new Map(whats.map((w, i) => [w, i]));
		this.items = whats.map((what) => {
			const p = at(what);
			return { what, w: p.w, h: p.h, layer: 0, rank: 0, x: 0, up: [], down: [] };
		});
		const known = new Map<string, number>();
		for (const e of edges) {
			const from = index.get(e.from) ?? 0;
			const to = index.get(e.to) ?? 0;
			const key = `${from} ${to}`;
			let k = known.get(key);
			if (k === undefined) {
				k = this.links.push({ from, to, places: [] }) - 1;
				known.set(key, k);
			}
			this.ends.set(e.edge, { link: k, turned: false });
		}
	}

	run(s: Spacing): { w: number; h: number } {
		this.findLayers();
		this.addPlaces();
		this.order();
		this.align(s);
		let y = 0;
		this.layers.forEach((l, i) => {
			this.tops[i] = y;
			this.heights[i] = l.reduce((m, it) => Math.max(m, it.h), 0);
			y += (this.heights[i] ?? 0) + s.down;
		});
		let left = Infinity;
		let right = -Infinity;
		for (const it of this.items) {
			left = Math.min(left, it.x - it.w / 2);
			right = Math.max(right, it.x + it.w / 2);
		}
		for (const it of this.items) it.x -= left;
		return { w: this.items.length ? right - left : 0, h: Math.max(0, y - s.down) };
	}

	top(it: Item): number {
		return (this.tops[it.layer] ?? 0) + ((this.heights[it.layer] ?? 0) - it.h) / 2;
	}

	/* The bends of edges over several layers: through the height of every layer in between. */
	wayLinks(): { edge: number; points: number[] }[] {
		const out: { edge: number; points: number[] }[] = [];
		for (const [edge, { link }] of this.ends) {
			const l = this.links[link];
			if (!l?.places.length) continue;
			const points = l.places.flatMap((k) => {
				const p = this.items[k] as Item;
				const top = this.tops[p.layer] ?? 0;
				return [p.x, top, p.x, top + (this.heights[p.layer] ?? 0)];
			});
			out.push({ edge, points });
		}
		return out;
	}

	/* Kahn's order; a circle is opened at its first item, and its edge back is drawn upwards. */
	private findLayers(): void {
		const outs: number[][] = this.items.map(() => []);
		const left = this.items.map(() => 0);
		this.links.forEach((l, k) => {
			outs[l.from]?.push(k);
			left[l.to] = (left[l.to] ?? 0) + 1;
		});
		const queue = left.flatMap((v, i) => (v === 0 ? [i] : []));
		const done = this.items.map(() => false);
		for (let head = 0, stuck = 0; ; head++) {
			if (head === queue.length) {
				while (stuck < done.length && (left[stuck] ?? 0) <= 0) stuck++;
				if (stuck === done.length) break;
				left[stuck] = 0;
				queue.push(stuck);
			}
			const i = queue[head] ?? 0;
			done[i] = true;
			for (const k of outs[i] ?? []) {
				const to = this.links[k]?.to ?? 0;
				if (done[to]) continue;
				const it = this.items[to] as Item;
				it.layer = Math.max(it.layer, (this.items[i]?.layer ?? 0) + 1);
				left[to] = (left[to] ?? 0) - 1;
				if (left[to] === 0) queue.push(to);
			}
		}
		/* What nothing leads to stands right above its first user. */
		const fed = new Set(this.links.map((l) => l.to));
		this.items.forEach((it, i) => {
			if (fed.has(i) || !outs[i]?.length) return;
			const next = (outs[i] ?? []).map((k) => this.items[this.links[k]?.to ?? 0]?.layer ?? 0);
			it.layer = Math.max(0, Math.min(...next) - 1);
		});
	}

	private addPlaces(): void {
		const join = (a: number, b: number) => {
			this.items[a]?.down.push(b);
			this.items[b]?.up.push(a);
		};
		for (const l of this.links) {
			const a = this.items[l.from]?.layer ?? 0;
			const z = this.items[l.to]?.layer ?? 0;
			if (z <= a) continue;
			if (z - a - 1 > this.budget) {
				join(l.from, l.to);
				continue;
			}
			let last = l.from;
			for (let layer = a + 1; layer < z; layer++) {
				const k = this.items.push({ what: -1, w: 6, h: 0, layer, rank: 0, x: 0, up: [], down: [] }) - 1;
				l.places.push(k);
				join(last, k);
				last = k;
				this.budget--;
			}
			join(last, l.to);
		}
		for (const it of this.items) (this.layers[it.layer] ??= []).push(it);
		for (let i = 0; i < this.layers.length; i++) this.layers[i] ??= [];
		this.layers.forEach((l) => l.forEach((it, i) => (it.rank = i)));
	}

	private order(): void {
		const mean = (list: readonly number[], it: Item) =>
			list.length ? list.reduce((s, k) => s + (this.items[k]?.rank ?? 0), 0) / list.length : it.rank;
		const sweep = (layer: Item[], up: boolean) => {
			const keys = new Map(layer.map((it) => [it, mean(up ? it.up : it.down, it)]));
			layer.sort((a, b) => (keys.get(a) ?? 0) - (keys.get(b) ?? 0) || a.rank - b.rank);
			layer.forEach((it, i) => (it.rank = i));
		};
		for (let s = 0; s < SWEEPS; s++) {
			for (const l of this.layers) sweep(l, true);
			for (const l of [...this.layers].reverse()) sweep(l, false);
		}
	}

	private align(s: Spacing): void {
		for (const l of this.layers) {
			let x = 0;
			for (const it of l) {
				it.x = x + it.w / 2;
				x += it.w + s.across;
			}
			for (const it of l) it.x -= x / 2;
		}
		const toward = (list: readonly number[]) => {
			let sum = 0;
			for (const k of list) sum += this.items[k]?.x ?? 0;
			return sum / list.length;
		};
		for (let k = 0; k < 2 * SWEEPS; k++) {
			const down = k % 2 === 0;
			const order = down ? this.layers : [...this.layers].reverse();
			for (const l of order) {
				const want = l.map((it) => {
					const list = k > SWEEPS ? [...it.up, ...it.down] : down ? it.up : it.down;
					return list.length ? toward(list) : it.x;
				});
				isotonic(l, want, s.across);
			}
		}
		/* Chains are straight. */
		for (const l of this.layers) {
			const only = (it: Item) => (it.up.length === 1 ? this.items[it.up[0] ?? 0] : undefined);
			isotonic(
				l,
				l.map((it) => (only(it)?.down.length === 1 ? (only(it)?.x ?? it.x) : it.x)),
				s.across,
			);
		}
	}
}

/* As near as the order and the distances allow: runs that would overlap are joined and stand at their mean. */
function isotonic(layer: readonly Item[], want: readonly number[], gap: number): void {
	const offset: number[] = [];
	let x = 0;
	for (const it of layer) {
		offset.push(x + it.w / 2);
		x += it.w + gap;
	}
	const runs: { sum: number; weight: number; count: number }[] = [];
	layer.forEach((it, i) => {
		/* The way of a long edge should be straight. */
		const weight = it.what < 0 ? 4 : 1;
		let run = { sum: ((want[i] ?? 0) - (offset[i] ?? 0)) * weight, weight, count: 1 };
		for (let last = runs[runs.length - 1]; last && last.sum / last.weight > run.sum / run.weight; last = runs[runs.length - 1]) {
			run = { sum: run.sum + last.sum, weight: run.weight + last.weight, count: run.count + last.count };
			runs.pop();
		}
		runs.push(run);
	});
	let i = 0;
	for (const r of runs)
		for (let k = 0; k < r.count; k++, i++) {
			const it = layer[i];
			if (it) it.x = r.sum / r.weight + (offset[i] ?? 0);
		}
}

/* An edge's way as a curve: vertical at every point. */
export function curve(way: readonly number[]): string {
	let d = `M${fix(way[0])} ${fix(way[1])}`;
	for (let i = 2; i + 1 < way.length; i += 2) {
		const [x0 = 0, y0 = 0, x1 = 0, y1 = 0] = way.slice(i - 2, i + 2);
		const half = Math.max(Math.abs(y1 - y0) / 2, y1 < y0 ? 40 : 0);
		d += Math.abs(x1 - x0) < 0.5 ? `L${fix(x1)} ${fix(y1)}` : `C${fix(x0)} ${fix(y0 + half)} ${fix(x1)} ${fix(y1 - half)} ${fix(x1)} ${fix(y1)}`;
	}
	return d;
}

function fix(v: number | undefined): string {
	return String(Math.round((v ?? 0) * 10) / 10);
}
