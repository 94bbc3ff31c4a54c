/*
 * charts_stand_in.js - what XProf's page wants of the charts library that it loads from the network: tables, views on them, and charts, of which
 * each draws its table as text. Loaded in the place of loader.js where there is no network.
 */
(() => {
	const num = (v) => (typeof v === "number" ? v : Number(v));
	const cellOf = (c) => (c !== null && typeof c === "object" && !(c instanceof Date) && !Array.isArray(c) && ("v" in c || "f" in c) ? { ...c } : { v: c });

	class Base {
		getFormattedValue(r, c) {
			const cell = this.cell(r, c);
			return cell.f ?? (cell.v === null || cell.v === undefined ? "" : String(cell.v));
		}
		getValue(r, c) {
			const v = this.cell(r, c).v;
			return v === undefined ? null : v;
		}
		getProperty(r, c, name) {
			return (this.cell(r, c).p ?? {})[name] ?? null;
		}
		getProperties(r, c) {
			return this.cell(r, c).p ?? {};
		}
		getColumnLabel(c) {
			return this.column(c).label ?? "";
		}
		getColumnId(c) {
			return this.column(c).id ?? "";
		}
		getColumnType(c) {
			return this.column(c).type;
		}
		getColumnRole(c) {
			return this.column(c).role ?? this.column(c).p?.role ?? "";
		}
		getColumnProperty(c, name) {
			return (this.column(c).p ?? {})[name] ?? null;
		}
		getColumnIndex(x) {
			if (typeof x === "number") return x;
			for (let c = 0; c < this.getNumberOfColumns(); c++) if (this.getColumnId(c) === x || this.getColumnLabel(c) === x) return c;
			return -1;
		}
		getDistinctValues(c) {
			return [...new Set(this.rows().map((r) => this.getValue(r, c)))].sort((a, b) => (a > b ? 1 : a < b ? -1 : 0));
		}
		getColumnRange(c) {
			const v = this.rows().map((r) => this.getValue(r, c));
			return { min: v.length ? Math.min(...v.map(num)) : null, max: v.length ? Math.max(...v.map(num)) : null };
		}
		rows() {
			return Array.from({ length: this.getNumberOfRows() }, (_, i) => i);
		}
		getFilteredRows(filters) {
			if (typeof filters === "function") return this.rows().filter((r) => filters(this, r));
			const fits = (r, f) => {
				const c = this.getColumnIndex(f.column);
				const v = this.getValue(r, c);
				if (f.test) return f.test(v, r, c, this);
				if ("value" in f) return v === f.value;
				return !("minValue" in f && v < f.minValue) && !("maxValue" in f && v > f.maxValue);
			};
			return this.rows().filter((r) => filters.every((f) => fits(r, f)));
		}
		getSortedRows(by) {
			const keys = (Array.isArray(by) ? by : [by]).map((k) => (typeof k === "object" ? k : { column: k }));
			return this.rows().sort((a, b) => {
				for (const k of keys) {
					const [x, y] = [this.getValue(a, k.column), this.getValue(b, k.column)];
					const d = k.compare ? k.compare(x, y) : x < y ? -1 : x > y ? 1 : 0;
					if (d) return k.desc ? -d : d;
				}
				return a - b;
			});
		}
		toTable() {
			const cols = Array.from({ length: this.getNumberOfColumns() }, (_, c) => ({ ...this.column(c) }));
			return new DataTable({ cols, rows: this.rows().map((r) => ({ c: cols.map((_, c) => this.cell(r, c)) })) });
		}
	}

	class DataTable extends Base {
		constructor(data) {
			super();
			const d = typeof data === "string" ? JSON.parse(data) : (data ?? {});
			this.cols = (d.cols ?? []).map((c) => (typeof c === "string" ? { type: c } : { ...c }));
			this.p = { ...(d.p ?? {}) };
			this.list = (d.rows ?? []).map((r) => ({ p: r.p, c: this.cols.map((_, i) => cellOf(r.c?.[i] ?? null)) }));
		}
		column(c) {
			if (!this.cols[c]) throw new Error(`Invalid column index ${c}. Should be in the range [0-${this.cols.length - 1}].`);
			return this.cols[c];
		}
		cell(r, c) {
			this.column(c);
			if (!this.list[r]) throw new Error(`Invalid row index ${r}.`);
			return this.list[r].c[c];
		}
		getNumberOfRows() {
			return this.list.length;
		}
		getNumberOfColumns() {
			return this.cols.length;
		}
		getTableProperty(name) {
			return this.p[name] ?? null;
		}
		getTableProperties() {
			return this.p;
		}
		setTableProperty(name, v) {
			this.p[name] = v;
		}
		setTableProperties(p) {
			this.p = { ...p };
		}
		addColumn(type, label, id) {
			return this.insertColumn(this.cols.length, type, label, id);
		}
		insertColumn(at, type, label, id) {
			this.cols.splice(at, 0, typeof type === "object" ? { ...type } : { type, label, id });
			for (const r of this.list) r.c.splice(at, 0, { v: null });
			return at;
		}
		addRow(cells) {
			this.list.push({ c: this.cols.map((_, i) => cellOf(cells?.[i] ?? null)) });
			return this.list.length - 1;
		}
		addRows(rows) {
			if (typeof rows === "number") for (let i = 0; i < rows; i++) this.addRow();
			else for (const r of rows) this.addRow(r);
			return this.list.length - 1;
		}
		insertRows(at, rows) {
			const tail = this.list.splice(at);
			this.addRows(rows);
			this.list.push(...tail);
		}
		setCell(r, c, v, f, p) {
			const cell = this.cell(r, c);
			if (v !== undefined) cell.v = v;
			if (f !== undefined) cell.f = f;
			if (p !== undefined) cell.p = p;
		}
		setValue(r, c, v) {
			this.cell(r, c).v = v;
		}
		setFormattedValue(r, c, f) {
			this.cell(r, c).f = f;
		}
		setProperty(r, c, name, v) {
			const cell = this.cell(r, c);
			cell.p = { ...cell.p, [name]: v };
		}
		setProperties(r, c, p) {
			this.cell(r, c).p = { ...p };
		}
		setRowProperty(r, name, v) {
			this.list[r].p = { ...this.list[r].p, [name]: v };
		}
		setColumnLabel(c, label) {
			this.column(c).label = label;
		}
		setColumnProperty(c, name, v) {
			this.column(c).p = { ...this.column(c).p, [name]: v };
		}
		setColumnProperties(c, p) {
			this.column(c).p = { ...p };
		}
		removeColumn(c) {
			this.removeColumns(c, 1);
		}
		removeColumns(c, n) {
			this.cols.splice(c, n);
			for (const r of this.list) r.c.splice(c, n);
		}
		removeRow(r) {
			this.list.splice(r, 1);
		}
		removeRows(r, n) {
			this.list.splice(r, n);
		}
		sort(by) {
			this.list = this.getSortedRows(by).map((r) => this.list[r]);
		}
		clone() {
			return new DataTable(this.toJSON());
		}
		toDataTable() {
			return this;
		}
		toJSON() {
			return JSON.stringify({ cols: this.cols, rows: this.list, p: this.p });
		}
	}

	class DataView extends Base {
		constructor(table) {
			super();
			this.table = table;
			this.c = Array.from({ length: table.getNumberOfColumns() }, (_, i) => i);
			this.r = table.rows();
		}
		column(c) {
			const k = this.c[c];
			if (k === undefined) throw new Error(`Invalid column index ${c}.`);
			if (typeof k !== "object") return this.table.column(this.table.getColumnIndex(k));
			const from = k.sourceColumn === undefined ? {} : this.table.column(this.table.getColumnIndex(k.sourceColumn));
			return { ...from, ...k, p: { ...from.p, ...k.properties } };
		}
		cell(r, c) {
			const k = this.c[c];
			const row = this.r[r];
			if (k === undefined || row === undefined) throw new Error(`Invalid cell ${r}, ${c}.`);
			if (typeof k !== "object") return this.table.cell(row, this.table.getColumnIndex(k));
			if (typeof k.calc === "function") return cellOf(k.calc(this.table, row));
			if (k.calc === "stringify") return { v: this.table.getFormattedValue(row, this.table.getColumnIndex(k.sourceColumn)) };
			return k.sourceColumn === undefined ? { v: null } : this.table.cell(row, this.table.getColumnIndex(k.sourceColumn));
		}
		getNumberOfRows() {
			return this.r.length;
		}
		getNumberOfColumns() {
			return this.c.length;
		}
		getTableProperty(name) {
			return this.table.getTableProperty(name);
		}
		getTableColumnIndex(c) {
			return typeof this.c[c] === "object" ? -1 : this.table.getColumnIndex(this.c[c]);
		}
		getViewColumnIndex(c) {
			return this.c.indexOf(c);
		}
		getTableRowIndex(r) {
			return this.r[r];
		}
		getViewColumns() {
			return [...this.c];
		}
		getViewRows() {
			return [...this.r];
		}
		setColumns(c) {
			this.c = [...c];
		}
		setRows(r, to) {
			this.r = typeof r === "number" ? Array.from({ length: to - r + 1 }, (_, i) => r + i) : [...r];
		}
		hideColumns(list) {
			const hidden = list.map((c) => this.table.getColumnIndex(c));
			this.c = this.c.filter((k) => typeof k === "object" || !hidden.includes(this.table.getColumnIndex(k)));
		}
		hideRows(list) {
			this.r = this.r.filter((r) => !list.includes(r));
		}
		toDataTable() {
			return this.toTable();
		}
		toJSON() {
			return this.toTable().toJSON();
		}
	}

	const listeners = new WeakMap();
	const events = {
		addListener(on, name, fn) {
			const l = listeners.get(on) ?? [];
			l.push({ name, fn });
			listeners.set(on, l);
			return { on, fn };
		},
		trigger(on, name, e) {
			for (const l of listeners.get(on) ?? []) if (l.name === name) l.fn(e);
		},
		removeListener(h) {
			listeners.set(h.on, (listeners.get(h.on) ?? []).filter((l) => l.fn !== h.fn));
		},
		removeAllListeners(on) {
			listeners.delete(on);
		},
	};

	/* Every cell is read and shown, so that one that cannot be is an error. */
	class Chart {
		constructor(el) {
			if (!el) throw new Error("Container is not defined");
			this.el = el;
		}
		draw(data, options) {
			if (!data) throw new Error("Data table is not defined.");
			const t = document.createElement("table");
			t.className = "stand-in";
			t.dataset.kind = this.constructor.name;
			t.dataset.rows = String(data.getNumberOfRows());
			const line = (cells, tag) => {
				const tr = t.appendChild(document.createElement("tr"));
				for (const c of cells) tr.appendChild(document.createElement(tag)).textContent = c;
			};
			const cols = Array.from({ length: data.getNumberOfColumns() }, (_, i) => i);
			line(cols.map((c) => data.getColumnLabel(c)), "th");
			const order = options?.sortColumn >= 0 ? data.getSortedRows([{ column: options.sortColumn, desc: !options.sortAscending }]) : data.rows();
			const texts = order.map((r) => cols.map((c) => data.getFormattedValue(r, c)));
			for (const row of texts.slice(0, 50)) line(row, "td");
			this.el.replaceChildren(t);
			setTimeout(() => events.trigger(this, "ready"));
		}
		getSelection() {
			return [];
		}
		setSelection() {}
		clearChart() {
			this.el.replaceChildren();
		}
		getSortInfo() {
			return { column: -1, ascending: true, sortedIndexes: [] };
		}
		getChartLayoutInterface() {
			const box = { left: 0, top: 0, width: 100, height: 100 };
			return { getXLocation: () => 0, getYLocation: () => 0, getBoundingBox: () => box, getChartAreaBoundingBox: () => box };
		}
	}

	class NumberFormat {
		constructor(o = {}) {
			this.o = o;
		}
		formatValue(v) {
			const percent = /%/.test(this.o.pattern ?? "");
			const digits = this.o.fractionDigits ?? /\.([#0]*)/.exec(this.o.pattern ?? "")?.[1].length ?? 2;
			return `${this.o.prefix ?? ""}${(percent ? v * 100 : v).toFixed(digits)}${percent ? "%" : ""}${this.o.suffix ?? ""}`;
		}
		format(table, c) {
			for (const r of table.rows()) {
				const v = table.getValue(r, c);
				if (typeof v === "number") table.setFormattedValue(r, c, this.formatValue(v));
			}
		}
	}

	class PatternFormat {
		constructor(pattern) {
			this.pattern = pattern;
		}
		format(table, from, to) {
			for (const r of table.rows())
				table.setFormattedValue(r, to ?? from[0], this.pattern.replace(/\{(\d+)\}/g, (_, k) => table.getFormattedValue(r, from[k])));
		}
	}

	const sum = (l) => l.reduce((a, v) => a + (v ?? 0), 0);
	const data = {
		sum,
		count: (l) => l.length,
		avg: (l) => sum(l) / (l.length || 1),
		min: (l) => Math.min(...l),
		max: (l) => Math.max(...l),
		group(table, keys, columns = []) {
			const groups = new Map();
			for (const r of table.rows()) {
				const key = keys.map((k) => table.getValue(r, k.column ?? k));
				const id = JSON.stringify(key);
				const g = groups.get(id) ?? { key, rows: [] };
				groups.set(id, g);
				g.rows.push(r);
			}
			const out = new DataTable();
			for (const k of keys) {
				const c = table.getColumnIndex(k.column ?? k);
				out.addColumn({ type: table.getColumnType(c), label: table.getColumnLabel(c), id: table.getColumnId(c) });
			}
			for (const c of columns) out.addColumn({ type: c.type, label: c.label ?? table.getColumnLabel(c.column), id: c.id ?? table.getColumnId(c.column) });
			for (const g of [...groups.values()].sort((a, b) => (a.key > b.key ? 1 : -1)))
				out.addRow([...g.key, ...columns.map((c) => c.aggregation(g.rows.map((r) => table.getValue(r, c.column))))]);
			return out;
		},
	};

	const visualization = { DataTable, DataView, NumberFormat, PatternFormat, data, events };
	visualization.arrayToDataTable = (rows, noHead) => {
		const head = noHead ? rows[0].map(() => ({})) : rows[0].map((h) => (typeof h === "object" && h !== null ? h : { label: h }));
		const body = noHead ? rows : rows.slice(1);
		const t = new DataTable();
		head.forEach((h, i) => {
			const v = body.map((r) => cellOf(r[i]).v).find((x) => x !== null && x !== undefined);
			t.addColumn({ type: typeof v === "undefined" ? "string" : typeof v, ...h });
		});
		t.addRows(body);
		return t;
	};
	for (const kind of ["Table", "ColumnChart", "AreaChart", "BarChart", "SteppedAreaChart", "ScatterChart", "PieChart", "LineChart", "Histogram", "ComboChart", "CandlestickChart", "BubbleChart"])
		visualization[kind] = { [kind]: class extends Chart {} }[kind];
	const ready = (fn) => setTimeout(fn);
	const load = (...a) => {
		const options = a.find((x) => x && typeof x === "object");
		if (options?.callback) ready(options.callback);
		return Promise.resolve();
	};
	window.google = { visualization, charts: { load, safeLoad: load, setOnLoadCallback: (fn) => (fn ? ready(fn) : Promise.resolve()) } };
})();
