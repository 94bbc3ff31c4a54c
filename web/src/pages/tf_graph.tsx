/*
 * tf_graph.tsx - the TensorFlow graph, a name scope at a time: what stands in it and how that is connected, coloured by structure or by
 * what a TPU could run; the compatibility of the scope, and the attributes of one operation.
 */
import { useCallback, useMemo } from "preact/hooks";
import { useJson } from "../api/loadable";
import { column, numbers, propNumber, propText, strings, table } from "../api/table";
import type { Result, TableData } from "../api/types";
import { classes } from "../base/dom";
import { count, percent, quantity } from "../base/format";
import { adjust, useQuery } from "../base/url";
import { drawing } from "../chart/drawing";
import { GraphView } from "../chart/graph_view";
import { Figure, Verdict } from "../widgets/conclusion";
import { Grid } from "../widgets/grid";
import { Failure, Notes, Waiting } from "../widgets/notes";
import { csvAddress, type Session } from "./session";

const LINE_PX = 15;

/* The scope in the URL: "" is the whole graph, which the server calls "/". */
function enter(scope: string, node?: string) {
	adjust({ scope: scope || undefined, node });
}

export function TfGraphPage({ session }: { session: Session }) {
	const scope = useQuery("scope");
	const graph = useQuery("graph");
	const where = { run: session.run.run, host: session.host };
	const { value, error, loading } = useJson<Result>("api/tool/tf_graph", { ...where, drawing: "true", scope: scope || "/", ...(graph ? { graph } : {}) });
	return (
		<div class="page">
			<h1 class="visually-hidden">{session.tool.title}</h1>
			{error && <Failure text={error} />}
			{error && scope && (
				<p>
					<button class="link" onClick={() => enter("")}>
						Show the whole graph
					</button>
				</p>
			)}
			{!value && loading && <Waiting what="Reading the graph…" />}
			{value && <Scope result={value} session={session} />}
		</div>
	);
}

/* ---- the picture ---- */

/* Parts of a node by what a TPU would do with them, from left to right. */
function parts(children: TableData, i: number): [string, number][] {
	const num = (id: string) => numbers(children, id)?.[i] ?? 0;
	const all = Math.max(1, num("ops"));
	return [
		["tpu-good", num("compatible") / all],
		["tpu-aside", num("not_judged") / all],
		["tpu-bad", num("incompatible") / all],
	];
}

const LEGEND: readonly [string, string][] = [
	["tpu-good", "valid operation"],
	["tpu-bad", "invalid operation"],
	["tpu-aside", "not judged"],
];

function Scope({ result, session }: { result: Result; session: Session }) {
	const scope = useQuery("scope");
	const node = useQuery("node");
	const scopes = table(result, "scopes");
	const layers = propText(scopes, "graph") === "layers";
	const other = propText(scopes, "other_graph");
	const color = useQuery("color");
	const byTpu = !layers && color === "tpu";
	const children = table(result, "children");
	const picture = useMemo(() => drawing(result), [result]);
	const names = strings(children, "name") ?? [];
	const isScope = column(children, "is_scope") ?? [];
	/* An operation may have the name of a scope beside it. */
	const at = names.findIndex((n, i) => n === node && !isScope[i]);
	const selected = at >= 0 ? at : names.indexOf(node) >= 0 ? names.indexOf(node) : null;
	const content = useCallback(
		(i: number) => {
			const place = picture.nodes[i];
			if (!place || !children) return null;
			let x = 0;
			return (
				<>
					{byTpu &&
						parts(children, i).map(([id, share]) => {
							const from = x;
							x += share * place.w;
							return share > 0 && <rect key={id} class={id} x={from} width={share * place.w} height={place.h} rx="4" />;
						})}
					{(picture.lines[i] ?? []).map((l, k) => (
						<text key={k} class={classes(k === 0 && "graph-title")} x={place.w / 2} y={(k + 1) * LINE_PX + 1} text-anchor="middle">
							{l}
						</text>
					))}
				</>
			);
		},
		[picture, children, byTpu],
	);
	return (
		<>
			<Notes notes={result.notes} />
			<Verdict of={result.conclusion} tools={session.toolNames}>
				{!layers && <Figure id="score" value={`${count(propNumber(table(result, "scopes"), "score") ?? 0)} %`}>
					TPU compatible
				</Figure>}
			</Verdict>
			<div class="bar bar-tools">
				<Path scope={scope} />
				<span class="spring" />
				{other && (
					<button class="button" onClick={() => adjust({ graph: other, scope: undefined, node: undefined })}>
						{other === "layers" ? "Layers of Keras" : "Operations of TensorFlow"}
					</button>
				)}
				{!layers && (
					<div class="segmented segmented-words" role="group" aria-label="Colour">
						<button class="button" aria-pressed={!byTpu} onClick={() => adjust({ color: undefined })}>
							Structure
						</button>
						<button class="button" aria-pressed={byTpu} onClick={() => adjust({ color: "tpu" })}>
							TPU compatibility
						</button>
					</div>
				)}
			</div>
			<div class="graph-page tf-graph-page">
				<div class="graph-side-by">
					{children && picture.nodes.length === children.nrows ? (
						<GraphView
							key={scope}
							drawing={picture}
							title={`Graph of ${scope || "the whole program"}`}
							start={-1}
							selected={selected}
							onSelect={(w) => adjust({ node: w === null ? undefined : names[w] })}
							onOpen={(w) => isScope[w] && enter(names[w] ?? "")}
							nodeLabel={(i) => (picture.lines[i] ?? []).join(", ")}
							nodeClass={(i) => classes(isScope[i] ? "tf-scope" : "tf-op")}
							node={content}
						/>
					) : (
						<p class="empty">
							{count(children?.nrows ?? 0)} nodes stand directly in this scope: too many for a picture. They are in the table
							below.
						</p>
					)}
					<ul class="graph-legend" aria-label="Colours">
						{byTpu ? (
							LEGEND.map(([id, label]) => (
								<li key={id}>
									<span class={`graph-swatch ${id}`} />
									{label}
								</li>
							))
						) : (
							<>
								<li>
									<span class="graph-swatch tf-swatch-scope" />
									{layers ? "model" : "name scope"} (double click opens it)
								</li>
								<li>
									<span class="graph-swatch tf-swatch-op" />
									{layers ? "layer" : "operation"}
								</li>
							</>
						)}
					</ul>
				</div>
				<div class="tf-graph-cards">
					{selected !== null && children && (
						<Selected children={children} row={selected} session={session} layers={layers} />
					)}
					{!layers && <Compatibility result={result} />}
				</div>
			</div>
			<Tables result={result} session={session} drawn={picture.nodes.length} />
		</>
	);
}

function Path({ scope }: { scope: string }) {
	const names = scope ? scope.split("/") : [];
	return (
		<nav class="tf-path" aria-label="Scope">
			<button class="link" onClick={() => enter("")}>
				whole graph
			</button>
			{names.map((n, i) => (
				<span key={i}>
					{" / "}
					{i + 1 < names.length ? (
						<button class="link" onClick={() => enter(names.slice(0, i + 1).join("/"))}>
							{n}
						</button>
					) : (
						<strong>{n}</strong>
					)}
				</span>
			))}
		</nav>
	);
}

/* ---- what of it a TPU could run ---- */

function Compatibility({ result }: { result: Result }) {
	const scopes = table(result, "scopes");
	const bad = table(result, "incompatible");
	const num = (id: string) => propNumber(scopes, id) ?? 0;
	const all = Math.max(1, num("ops"));
	const judged = numbers(scopes, "judged_frac")?.[0] ?? NaN;
	const names = strings(bad, "node") ?? [];
	const ops = strings(bad, "op") ?? [];
	const where = strings(bad, "scope") ?? [];
	const share = (id: string, n: number) => n > 0 && <span class={id} style={{ width: `${(100 * n) / all}%` }} title={count(n)} />;
	return (
		<section class="card tf-card" aria-label="TPU compatibility">
			<h2>TPU compatibility</h2>
			<div class="tf-score" role="img" aria-label={`${count(num("score"))} % compatible`}>
				{share("tpu-good", num("compatible"))}
				{share("tpu-aside", num("not_judged"))}
				{share("tpu-bad", num("incompatible"))}
			</div>
			<dl class="env">
				{(
					[
						["Compatible", num("compatible")],
						["Incompatible", num("incompatible")],
						["Not judged", num("not_judged")],
					] as const
				).map(([label, n]) => (
					<div key={label}>
						<dt>{label}</dt>
						<dd data-fact={label}>{count(n)}</dd>
					</div>
				))}
				<div>
					<dt>Share of the judged</dt>
					<dd data-fact="Of the judged">{Number.isFinite(judged) ? `${quantity(judged, "frac")} compatible` : "–"}</dd>
				</div>
			</dl>
			<h3>Incompatible operations ({count(names.length)})</h3>
			{names.length === 0 ? (
				<p class="muted">None.</p>
			) : (
				<ul class="tf-bad" tabIndex={0} aria-label="Incompatible operations">
					{names.slice(0, 200).map((n, i) => (
						<li key={n}>
							<button class="link" onClick={() => enter(where[i] ?? "", n)}>
								{n}
							</button>
							<span class="muted"> {ops[i]}</span>
						</li>
					))}
					{names.length > 200 && <li class="muted">… and {count(names.length - 200)} more in the table</li>}
				</ul>
			)}
		</section>
	);
}

/* ---- one node ---- */

function Selected({ children, row, session, layers }: { children: TableData; row: number; session: Session; layers: boolean }) {
	const text = (id: string) => String(column(children, id)?.[row] ?? "");
	const num = (id: string) => numbers(children, id)?.[row] ?? 0;
	const name = text("name");
	if (column(children, "is_scope")?.[row])
		return (
			<section class="card tf-card" aria-label="Scope">
				<h2 class="wrap">{name}</h2>
				<div class="bar">
					<button class="button" onClick={() => enter(name)}>
						Open this scope
					</button>
				</div>
				<dl class="env">
					{(layers
						? [["Layers", count(num("ops"))] as const]
						: ([
								["Operations", count(num("ops"))],
								["Compatible", count(num("compatible"))],
								["Incompatible", count(num("incompatible"))],
								["Not judged", count(num("not_judged"))],
								["Compatible share", percent(100 * num("compatible_frac"))],
							] as const)
					).map(([label, v]) => (
						<div key={label}>
							<dt>{label}</dt>
							<dd>{v}</dd>
						</div>
					))}
				</dl>
			</section>
		);
	return (
		<section class="card tf-card" aria-label={layers ? "Layer" : "Operation"} aria-live="polite">
			<h2 class="wrap">{name}</h2>
			<dl class="env">
				{(
					[
						[layers ? "Class" : "Operator", text("op")],
						["Device", text("device")],
						["On a TPU", layers ? "" : text("verdict")],
					] as const
				).map(
					([label, v]) =>
						v && (
							<div key={label}>
								<dt>{label}</dt>
								<dd class="wrap" data-fact={label}>
									{v}
								</dd>
							</div>
						),
				)}
			</dl>
			<Details name={name} session={session} graph={layers ? "layers" : "operations"} />
		</section>
	);
}

function Details({ name, session, graph }: { name: string; session: Session; graph: string }) {
	const { value, error } = useJson<Result>("api/tool/tf_graph", { run: session.run.run, host: session.host, node: name, graph });
	if (error) return <Failure text={error} />;
	if (!value) return <Waiting what="Reading its attributes…" />;
	const attributes = table(value, "attributes");
	const keys = strings(attributes, "attribute") ?? [];
	const values = strings(attributes, "value") ?? [];
	const near = table(value, "neighbours");
	const nodes = strings(near, "node") ?? [];
	const direction = strings(near, "direction") ?? [];
	const control = column(near, "control") ?? [];
	return (
		<>
			{keys.length > 0 && <h3>Attributes</h3>}
			<dl class="env tf-attributes">
				{keys.map((k, i) => (
					<div key={k}>
						<dt class="wrap">{k}</dt>
						<dd class="wrap">
							<Value text={values[i] ?? ""} />
						</dd>
					</div>
				))}
			</dl>
			{(["input", "output"] as const).map((d) => {
				const rows = nodes.map((_, i) => i).filter((i) => direction[i] === d);
				return (
					rows.length > 0 && (
						<div key={d}>
							<h3>
								{d === "input" ? "Inputs" : "Outputs"} ({count(rows.length)})
							</h3>
							<ul class="graph-links">
								{rows.slice(0, 40).map((i) => (
									<li key={i}>
										<button class="link" onClick={() => enter(above(nodes[i] ?? ""), nodes[i])}>
											{nodes[i]}
										</button>
										{control[i] && <span class="muted"> control</span>}
									</li>
								))}
							</ul>
						</div>
					)
				);
			})}
		</>
	);
}

/* A function of the graph's library stands in a scope of its own. */
function Value({ text }: { text: string }) {
	const name = /^function (\S+)$/.exec(text)?.[1];
	if (!name) return <>{text}</>;
	return (
		<button class="link" onClick={() => enter(`__function_library__/${name}`)}>
			{text}
		</button>
	);
}

/* The scope of an operation that is no scope itself. */
function above(name: string): string {
	const slash = name.lastIndexOf("/");
	return slash < 0 ? "" : name.slice(0, slash);
}

/* ---- tables ---- */

function Tables({ result, session, drawn }: { result: Result; session: Session; drawn: number }) {
	const scopes = table(result, "scopes");
	const operators = table(result, "operators");
	const children = table(result, "children");
	const names = strings(scopes, "scope") ?? [];
	return (
		<>
			{scopes && scopes.nrows > 1 && (
				<section class="card" aria-label="Name scopes">
					<h2>Name scopes</h2>
					<Grid table={scopes} maxRows={14} onRow={(row) => enter(names[row] ?? "")} selected={null} csv={csvAddress(session)} />
				</section>
			)}
			{children && children.nrows > drawn && (
				<section class="card" aria-label="In this scope">
					<h2>In this scope</h2>
					<Grid table={children} maxRows={20} sort={{ col: "incompatible", down: true }} />
				</section>
			)}
			{operators && (
				<section class="card" aria-label="Operators">
					<h2>Operators</h2>
					<Grid table={operators} maxRows={12} />
				</section>
			)}
		</>
	);
}
