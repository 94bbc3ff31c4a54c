/*
 * shell.tsx - the frame around all pages: run, tool and host, all three in the URL.
 */
import { useEffect, useState } from "preact/hooks";
import { useJson, type Loadable } from "../api/loadable";
import { fetching } from "../api/fetch";
import { presence } from "../api/presence";
import { saved } from "../api/saved";
import { ALL_HOSTS, type Run, type Runs, type Tool } from "../api/types";
import { classes } from "../base/dom";
import { useStore } from "../base/store";
import { chooseTheme, useTheme, type Choice } from "../base/theme";
import { followLink, formatQuery, go, query, useQuery, withOperation } from "../base/url";
import { Failure, Waiting } from "../widgets/notes";
import { Icon, type IconName } from "../widgets/icon";
import { hostFor, hostsInOrder, menuGroups, menuOrder, toolFor } from "./choose";
import { CommandPalette } from "./palette";
import { ComparePage } from "./compare";
import { HistoryPage } from "./history";
import { pageOf } from "./registry";
import type { Session } from "./session";
import { SqlPage } from "./sql";
import { FIRST } from "./sql_model";
import { StartPage } from "./start";

export function Shell() {
	const runs = useJson<Runs>("api/runs");
	const run = useQuery("run");
	const list = useQuery("list");
	/* One run is what its owner came for; a list of one would be in the way. */
	const only = runs.value?.runs.length === 1 && !list ? runs.value.runs[0] : undefined;
	const name = run || only?.run || "";
	const current = runs.value?.runs.find((r) => r.run === name);
	useEffect(() => {
		document.title = name ? `${name} · stepscope` : "stepscope";
	}, [name]);
	return (
		<div class="shell" onClick={followLink}>
			<a class="skip" href="#main">
				Skip to the content
			</a>
			<Presence />
			{saved && <SavedNote />}
			<ShellBody runs={runs} name={name} current={current} />
		</div>
	);
}

/* A page that is a file says so, and what it leaves out. */
function SavedNote() {
	const left = [...new Set(saved?.left_out)];
	return (
		<p class="saved">
			A file made by stepscope: {saved?.run}. Details of single events, searches and other parameters are not in it.
			{left.length > 0 && (
				<span title={left.join("\n")}>
					{" "}
					Left out for lack of room: {left.slice(0, 3).join(", ")}
					{left.length > 3 && ` and ${left.length - 3} more`}.
				</span>
			)}
		</p>
	);
}

function Presence() {
	const gone = useStore(presence, (p) => p.gone);
	const later = useStore(fetching, (text) => text);
	if (!gone)
		return later ? (
			<p class="gone" role="status">
				{later}
			</p>
		) : null;
	return (
		<p class="gone" role="alert">
			stepscope does not answer: it was stopped, or the connection is lost. The page tries again and continues when it is back.
		</p>
	);
}

/* A run named in the URL is opened while the list of runs is still on its way. */
function ShellBody({ runs, name, current }: { runs: Loadable<Runs>; name: string; current: Run | undefined }) {
	const compare = useQuery("compare");
	const history = useQuery("history");
	if (runs.error)
		return (
			<>
				<TopBar runs={undefined} />
				<main class="page" id="main">
					<h1>No answer</h1>
					<Failure text={runs.error} />
				</main>
			</>
		);
	if (history)
		return (
			<>
				<TopBar runs={runs.value} />
				<main class="content" id="main" tabIndex={-1}>
					<HistoryPage runs={runs.value} />
				</main>
			</>
		);
	if (name && compare)
		return (
			<>
				<TopBar runs={runs.value} run={name} />
				<main class="content" id="main" tabIndex={-1}>
					<ComparePage runs={runs.value} run={name} />
				</main>
			</>
		);
	if (name)
		return (
			<RunView key={name} runs={runs.value} run={current ?? { run: name, path: "", time_s: 0, bytes: 0, hosts: [] }} />
		);
	if (!runs.value)
		return (
			<>
				<TopBar runs={undefined} />
				<main class="page" id="main">
					<Waiting what="Looking for profiles…" />
				</main>
			</>
		);
	return (
		<>
			<TopBar runs={runs.value} />
			<StartPage runs={runs.value} />
		</>
	);
}

function RunView({ runs, run }: { runs: Runs | undefined; run: Run }) {
	const { value, error, loading } = useJson<{ tools: Tool[] }>("api/tools", { run: run.run });
	const askedTool = useQuery("tool");
	const askedHost = useQuery("host");
	const sql = useQuery("sql");
	const tools = value?.tools ?? [];
	const tool = toolFor(tools, askedTool);
	const session: Session | undefined = tool && {
		run,
		tool,
		host: hostFor(tool, askedHost),
		tools,
		toolNames: tools.filter((t) => t.available).map((t) => t.name),
	};
	const Page = tool ? pageOf(tool.name, tool.kind) : undefined;
	return (
		<>
			<TopBar runs={runs} session={session} run={run.run} />
			<CommandPalette tools={tools} runs={runs?.runs ?? []} run={run.run} host={askedHost} current={tool} />
			<div class="below">
				<ToolNav tools={tools} current={sql ? "" : (tool?.name ?? "")} run={run.run} host={askedHost} />
				<main class="content" id="main" tabIndex={-1}>
					{error && (
						<div class="page">
							<h1>This run cannot be opened</h1>
							<Failure text={error} />
						</div>
					)}
					{loading && !value && (
						<div class="page">
							<Waiting what="Opening the run…" />
						</div>
					)}
					{value && !tool && (
						<div class="page">
							<h1>No such tool</h1>
							<Failure text={askedTool ? `This run has no tool “${askedTool}”.` : "No tool has data for this run."} />
						</div>
					)}
					{value && sql && <SqlPage run={run.run} tools={tools} />}
					{session &&
						!sql &&
						Page &&
						(session.tool.available ? (
							<Page key={`${session.tool.name} ${session.host}`} session={session} />
						) : (
							<div class="page">
								<h1>{session.tool.title}</h1>
								<p class="muted">{session.tool.summary}</p>
								<p class="empty">
									{sentence(session.tool.why || "This profile has no data for it")}{" "}
									<a href={formatQuery({ run: run.run })}>Back to what it holds</a>.
								</p>
							</div>
						))}
				</main>
			</div>
		</>
	);
}

/* The server's words, as a sentence. */
function sentence(text: string): string {
	return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
}

function TopBar({ runs, session, run }: { runs: Runs | undefined; session?: Session | undefined; run?: string }) {
	return (
		<header class="top">
			<a class="brand" href={runs && runs.runs.length === 1 ? "?list=all" : "./"} title="All runs">
				<svg viewBox="0 0 32 32" width="20" height="20" aria-hidden="true">
					<path d="M4 8h22M4 16h9m4 0h8M4 24h4m4 0h4m4 0h8" />
				</svg>
				<span>stepscope</span>
			</a>
			{run && (
				<label class="field">
					<span class="visually-hidden">Run</span>
					<select
						class="select"
						value={run}
						title={run}
						onChange={(e) => go({ run: e.currentTarget.value, tool: query.get()["tool"] })}
					>
						{runs?.runs.some((r) => r.run === run) || <option value={run}>{run}</option>}
						{runs?.runs.map((r) => (
							<option key={r.run} value={r.run}>
								{r.run}
							</option>
						))}
					</select>
				</label>
			)}
			{session && session.tool.hosts.length > 0 && <HostSelect session={session} />}
			{session && runs && <CompareSelect runs={runs} session={session} />}
			<span class="spring" />
			{runs?.version && <span class="muted version">{runs.version}</span>}
			<ThemeButton />
		</header>
	);
}

/* Another run to put this one beside: the tables of the tool that is shown, from the overview and timelines the whole. */
function CompareSelect({ runs, session }: { runs: Runs; session: Session }) {
	const { tool } = session;
	const { run } = session.run;
	const whole = tool.name === "overview_page" || tool.kind === "timeline" || tool.kind === "graph";
	const others = runs.runs.filter((r) => r.run !== run && r.hosts.length > 0);
	if (!others.length) return null;
	return (
		<label class="field">
			<span class="visually-hidden">Compare with</span>
			<select class="select" value="" onChange={(e) => go({ run, compare: e.currentTarget.value, tool: whole ? "" : tool.name })}>
				<option value="">Compare…</option>
				{others.map((r) => (
					<option key={r.run} value={r.run}>
						{r.run}
					</option>
				))}
			</select>
		</label>
	);
}

function HostSelect({ session }: { session: Session }) {
	const { tool, host } = session;
	const label = (h: string) => (h === ALL_HOSTS ? "All hosts" : h);
	if (tool.hosts.length === 1)
		return (
			<span class="host-one" title="Host">
				{label(host)}
			</span>
		);
	return (
		<label class="field">
			<span class="visually-hidden">Host</span>
			<select
				class="select"
				value={host}
				onChange={(e) => go({ run: session.run.run, tool: tool.name, host: e.currentTarget.value })}
			>
				{hostsInOrder(tool.hosts).map((h) => (
					<option key={h} value={h}>
						{label(h)}
					</option>
				))}
			</select>
		</label>
	);
}

const NEXT: Record<Choice, Choice> = { system: "light", light: "dark", dark: "system" };
const SIGN: Record<Choice, IconName> = { system: "auto", light: "sun", dark: "moon" };

function ThemeButton() {
	const { choice } = useTheme();
	return (
		<button
			class="button button-icon"
			onClick={() => chooseTheme(NEXT[choice])}
			title={`Colours: ${choice}`}
			aria-label={`Colours: ${choice}`}
		>
			<Icon name={SIGN[choice]} />
		</button>
	);
}

/* ---- tools ---- */

const NARROW_KEY = "stepscope.nav";

function ToolNav({
	tools,
	current,
	run,
	host,
}: {
	tools: readonly Tool[];
	current: string;
	run: string;
	host: string;
}) {
	const [open, setOpen] = useState(() => {
		try {
			return localStorage.getItem(NARROW_KEY) !== "closed";
		} catch {
			return true;
		}
	});
	const toggle = () => {
		try {
			localStorage.setItem(NARROW_KEY, open ? "closed" : "open");
		} catch {
			/* kept for this page only */
		}
		setOpen(!open);
	};
	useQuery("op");
	const link = (t: Tool) => (
		<a
			key={t.name}
			class={classes("nav-item", t.name === current && "nav-on", !t.available && "nav-off")}
			aria-current={t.name === current ? "page" : undefined}
			href={formatQuery({ run, tool: t.name, host, ...withOperation(t.name) })}
			title={t.available ? t.summary : t.why || "This profile has no data for it."}
		>
			{t.title}
		</a>
	);
	const sorted = menuOrder(tools);
	const there = sorted.filter((t) => t.available);
	const absent = sorted.filter((t) => !t.available);
	return (
		<nav class={classes("nav", !open && "nav-closed")} aria-label="Tools">
			<button
				class="button button-icon nav-toggle"
				onClick={toggle}
				aria-expanded={open}
				aria-label={open ? "Hide the tools" : "Show the tools"}
				title={open ? "Hide the tools" : "Show the tools"}
			>
				<Icon name="menu" />
			</button>
			{open && (
				<div class="nav-list">
					{menuGroups(there).map((g) => (
						<div key={g.title} class="nav-group" role="group" aria-label={g.title}>
							<h2>{g.title}</h2>
							{g.tools.map(link)}
						</div>
					))}
					{!saved && (
						<a
							class={classes("nav-item", !current && "nav-on")}
							aria-current={current ? undefined : "page"}
							href={formatQuery({ run, sql: FIRST })}
							title="Ask events, steps and the tables of all tools in SQL"
						>
							SQL
						</a>
					)}
					{absent.length > 0 && (
						<details class="nav-more" open={absent.some((t) => t.name === current)}>
							<summary>Not in this profile</summary>
							{absent.map(link)}
						</details>
					)}
				</div>
			)}
		</nav>
	);
}
