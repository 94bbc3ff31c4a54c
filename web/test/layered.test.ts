import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { curve, layered, type Edge, type Node, type Place } from "../src/chart/layered";

const node = (box = -1, w = 60, h = 20): Node => ({ w, h, box });

function overlap(a: Place, b: Place): boolean {
	return a.x < b.x + b.w - 0.01 && b.x < a.x + a.w - 0.01 && a.y < b.y + b.h - 0.01 && b.y < a.y + a.h - 0.01;
}

function within(a: Place, b: Place): boolean {
	return a.x >= b.x && a.y >= b.y && a.x + a.w <= b.x + b.w + 0.01 && a.y + a.h <= b.y + b.h + 0.01;
}

function pairs(list: readonly Place[]): [Place, Place][] {
	return list.flatMap((a, i) => list.slice(i + 1).map((b): [Place, Place] => [a, b]));
}

/* The same numbers on every machine. */
function random(seed: number): () => number {
	let s = seed;
	return () => (s = (Math.imul(s, 1103515245) + 12345) >>> 1) / 2 ** 31;
}

describe("layered", () => {
	test("a chain is straight and goes down", () => {
		const d = layered([node(), node(-1, 100), node()], [], [
			{ from: 0, to: 1 },
			{ from: 1, to: 2 },
		]);
		const middle = d.nodes.map((p) => p.x + p.w / 2);
		assert.ok(Math.abs((middle[0] ?? 0) - (middle[1] ?? 1)) < 1e-6 && Math.abs((middle[1] ?? 0) - (middle[2] ?? 1)) < 1e-6);
		assert.ok((d.nodes[0]?.y ?? 0) < (d.nodes[1]?.y ?? 0) && (d.nodes[1]?.y ?? 0) < (d.nodes[2]?.y ?? 0));
		assert.equal(d.w, 100);
	});

	test("what leads nowhere stands above its first user", () => {
		/* 0 -> 1 -> 2, 3 -> 2 */
		const d = layered([node(), node(), node(), node()], [], [
			{ from: 0, to: 1 },
			{ from: 1, to: 2 },
			{ from: 3, to: 2 },
		]);
		assert.equal(d.nodes[3]?.y, d.nodes[1]?.y);
	});

	test("a long edge goes around what stands in its way", () => {
		const d = layered([node(), node(), node()], [], [
			{ from: 0, to: 1 },
			{ from: 1, to: 2 },
			{ from: 0, to: 2 },
		]);
		const way = d.ways[2] ?? [];
		assert.ok(way.length > 4, "it has bends");
		const p = d.nodes[1] as Place;
		assert.ok((way[2] ?? 0) < p.x || (way[2] ?? 0) > p.x + p.w);
		assert.match(curve(way), /^M[-\d. ]+C/);
	});

	test("boxes hold what is in them, also boxes", () => {
		const d = layered([node(), node(0), node(1), node(1), node()], [node(-1, 90, 30), node(0, 40, 30)], [
			{ from: 0, to: 1 },
			{ from: 1, to: 2 },
			{ from: 2, to: 3 },
			{ from: 3, to: 4 },
		]);
		const [outer, inner] = d.boxes as [Place, Place];
		assert.ok(within(inner, outer) && within(d.nodes[1] as Place, outer));
		assert.ok(within(d.nodes[2] as Place, inner) && within(d.nodes[3] as Place, inner));
		assert.ok(!overlap(d.nodes[0] as Place, outer) && !overlap(d.nodes[4] as Place, outer));
		assert.ok(within(outer, { x: 0, y: 0, w: d.w, h: d.h }));
	});

	test("circles, self-loops and repeated edges end", () => {
		const d = layered([node(), node(), node()], [], [
			{ from: 0, to: 1 },
			{ from: 1, to: 2 },
			{ from: 2, to: 0 },
			{ from: 1, to: 1 },
			{ from: 0, to: 1 },
		]);
		for (const [a, b] of pairs(d.nodes)) assert.ok(!overlap(a, b));
		assert.equal(d.ways.length, 5);
	});

	test("no nodes, no drawing", () => assert.deepEqual(layered([], [], []), { w: 0, h: 0, nodes: [], boxes: [], ways: [] }));

	test("5000 nodes take no time, and none overlaps another", () => {
		const next = random(7);
		const nodes = Array.from({ length: 5000 }, () => node(-1, 40 + Math.floor(next() * 80)));
		const edges: Edge[] = [];
		for (let i = 1; i < nodes.length; i++)
			for (let k = 0; k < 2; k++) edges.push({ from: Math.max(0, i - 1 - Math.floor(next() * 40)), to: i });
		const begin = performance.now();
		const d = layered(nodes, [], edges);
		assert.ok(performance.now() - begin < 5000);
		const byRow = new Map<number, Place[]>();
		for (const p of d.nodes) byRow.set(p.y, [...(byRow.get(p.y) ?? []), p]);
		for (const row of byRow.values()) for (const [a, b] of pairs(row)) assert.ok(!overlap(a, b));
	});
});
