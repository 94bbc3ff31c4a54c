import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { contrast, distinctColors, family, hash, nameColor, oklchToRgb, parseable } from "./helpers";
import {
	ago,
	bytes,
	hex,
	apart,
	clock_ps,
	columnFormat,
	count,
	exact_ps,
	percent,
	quantity,
	significant,
	time_ps,
} from "../src/base/format";
import { formatQuery, parseQuery } from "../src/base/url";
import { createStore } from "../src/base/store";
import { address } from "../src/api/fetch";

const plain = (s: string) => s.replace(/\u202f/g, " ");

test("times carry the unit that reads best", () => {
	const cases: [number, string][] = [
		[0, "0 s"],
		[1, "1.00 ps"],
		[999, "999 ps"],
		[1000, "1.00 ns"],
		[1234567, "1.23 µs"],
		[999_960_000, "1.00 ms"],
		[42_640_000_000, "42.6 ms"],
		[1e12, "1.00 s"],
		[90e12, "90.0 s"],
		[720e12, "12.0 min"],
		[-1500, "−1.50 ns"],
		[NaN, "–"],
	];
	for (const [ps, text] of cases) assert.equal(plain(time_ps(ps)), text);
});

test("exact times keep every picosecond and no empty zero", () => {
	assert.equal(plain(exact_ps(1_234_567_890)), "1.23456789 ms");
	assert.equal(plain(exact_ps(174_758_512_995)), "174.758512995 ms");
	assert.equal(plain(exact_ps(1000)), "1 ns");
	assert.equal(plain(exact_ps(0)), "0 ps");
	assert.equal(plain(exact_ps(12_345_678e12)), "12,345,678 s");
});

test("a point on the ruler differs from its neighbours", () => {
	for (const step of [1, 20, 5000, 2e6, 1e9, 5e11])
		for (const at of [0, 3, 1e4, 7e9, 2.5e12]) assert.notEqual(clock_ps(at, step), clock_ps(at + step, step));
	assert.equal(plain(clock_ps(170e9, 5e9)), "170 ms");
});

test("numbers have units and groups", () => {
	assert.equal(count(1234567), "1,234,567");
	assert.equal(count(1234), "1234");
	assert.equal(plain(bytes(812345678)), "775 MiB");
	assert.equal(plain(bytes(1023)), "1023 B");
	assert.equal(plain(percent(0.004)), "<0.1 %");
	assert.equal(plain(percent(100)), "100 %");
	assert.equal(plain(percent(99.99)), ">99.9 %");
	assert.equal(plain(quantity(0.1234, "frac")), "12.3 %");
	assert.equal(plain(quantity(22.5, "ms")), "22.5 ms");
	assert.equal(plain(quantity(0.0215, "ms")), "21.5 µs");
	assert.equal(plain(quantity(210, "gflop_per_s")), "210 GFLOP/s");
	assert.equal(plain(quantity(1.5, "gib")), "1.50 GiB");
	assert.equal(significant(0.000012345), "0.0000123");
	assert.equal(significant(Infinity), "∞");
});

test("hexadecimal is unsigned and admits what it lost", () => {
	assert.equal(hex(255), "0xff");
	assert.equal(hex(-1), "0xffffffffffffffff");
	assert.equal(hex(2 ** 60 + 2 ** 20), "0x1000000000100…");
});

test("a column has one unit, and its small values are not called zero", () => {
	const f = columnFormat("us", 5e6);
	assert.equal(f.unit, "s");
	assert.equal(f.cell(4.8224e6), "4.822");
	assert.equal(f.cell(1), "0.000001");
	assert.equal(f.cell(0.1), "<0.000001");
	assert.equal(f.cell(43_210), "0.043");
	assert.equal(f.cell(0), "0");
	assert.equal(columnFormat("ms", 12).unit, "ms");
	assert.equal(columnFormat("us", 0).unit, "µs");
	assert.equal(columnFormat("ps", 0).unit, "µs", "nothing but zeros need no picoseconds");
	assert.equal(columnFormat("ps", 0).cell(0), "0");
	assert.equal(columnFormat("frac", 1).cell(0.25), "25.00");
});

test("dates are relative where that helps", () => {
	assert.equal(ago(1000, 1030), "just now");
	assert.equal(ago(1000, 1000 + 7200), "2 h ago");
	assert.equal(ago(0, 5), "");
});

test("the query says the same in the same way", () => {
	const text = formatQuery({ tool: "trace_viewer@", run: "a b", zoom: "", host: "h:1", q: "x&y=1" });
	assert.equal(text, "?run=a%20b&tool=trace_viewer@&host=h:1&q=x%26y%3D1");
	assert.deepEqual(parseQuery(text), { run: "a b", tool: "trace_viewer@", host: "h:1", q: "x&y=1" });
	assert.equal(formatQuery({}), "");
	assert.equal(address("api/x", { a: 1, b: "", c: undefined, d: "ä" }), "api/x?a=1&d=%C3%A4");
});

test("a store tells its listeners about changes only", () => {
	const s = createStore({ a: 1, b: 2 });
	let calls = 0;
	const stop = s.subscribe(() => calls++);
	s.update({ a: 2 });
	s.set(s.get());
	assert.equal(calls, 1);
	stop();
	s.update({ a: 3 });
	assert.equal(calls, 1);
});

test("colours: relatives share a hue, and labels are readable on all of them", () => {
	assert.equal(family("loop_fusion.123"), "loop_fusion");
	assert.equal(family("train 17"), "train");
	assert.equal(family("%copy-done.4.1"), "%copy-done");
	assert.equal(family("42"), "42");
	assert.equal(hash("abc"), hash("abc"));
	assert.notEqual(hash("abc"), hash("abd"));
	assert.deepEqual(oklchToRgb(1, 0, 0), [255, 255, 255]);
	for (let i = 0; i < 500; i++) {
		assert.ok(contrast(nameColor(`op${String.fromCharCode(97 + (i % 26))}_${i}x`, false), parseable("#151a20")) > 7);
		assert.ok(contrast(nameColor(`op${String.fromCharCode(97 + (i % 26))}_${i}x`, true), parseable("#f4f6f9")) > 4.5);
	}
});

test("colours mean something, and no two of a list are the same", () => {
	const spread = (p: number) => Math.max(p & 255, (p >>> 8) & 255, (p >>> 16) & 255) - Math.min(p & 255, (p >>> 8) & 255, (p >>> 16) & 255);
	for (const dark of [false, true]) {
		/* Computing, communication and copies, in the graph of a program, too. */
		const theme = readFileSync("src/css/graph.css", "utf8")
			.split("\n")
			.find((l) => l.startsWith(dark ? ':root[data-theme="dark"] { --hlo' : ":root { --hlo"));
		for (const [kind, name] of [["communication", "all-reduce"], ["movement", "copy"], ["heavy", "compute"]]) {
			const color = parseable(new RegExp(`--hlo-${kind}: (#[0-9a-f]{6})`).exec(theme ?? "")?.[1] ?? "");
			assert.ok(Array.from({ length: 20 }, (_, k) => nameColor(k ? `${name}.${k}` : name, dark)).includes(color), kind);
		}
		for (const grey of ["IDLE", "Unknown", ""]) assert.ok(spread(nameColor(grey, dark)) < 16, grey);
		assert.notEqual(nameColor("Unknown", dark), nameColor("HBM", dark));
		assert.notEqual(nameColor("IDLE", dark), nameColor("Unknown", dark));
		const names = Array.from({ length: 10 }, (_, i) => `operation_${String.fromCharCode(97 + i)}`);
		assert.equal(new Set(distinctColors(names, dark)).size, names.length);
		assert.equal(nameColor("all-reduce.1", dark) === nameColor("fusion.1", dark), false);
	}
});

test("labels of an axis are told apart", () => {
	const ms = (v: number, digits = 3) => Number(v.toPrecision(digits)) + " s";
	assert.deepEqual(apart([9.7192, 9.7193, 9.7194], ms), ["9.7192 s", "9.7193 s", "9.7194 s"]);
	assert.deepEqual(apart([1, 2, 3], ms), ["1 s", "2 s", "3 s"]);
	assert.equal(apart([5, 5], ms).length, 2);
});
