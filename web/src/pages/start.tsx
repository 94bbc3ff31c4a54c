/*
 * start.tsx - what is in the log directory. With nothing in it: which files were skipped, and why, and how to record a profile.
 */
import { useRef, useState } from "preact/hooks";
import type { Run, RunFacts, Runs } from "../api/types";
import { ago, bytes, count, date_s, time_ps } from "../base/format";
import { formatQuery } from "../base/url";
import { Failure } from "../widgets/notes";
import { CaptureButton } from "./capture";
import { useRunFacts } from "./run_facts";

export function StartPage({ runs }: { runs: Runs }) {
	return (
		<main class="page start" id="main">
			<header class="page-head">
				<div>
					<h1>Profiles</h1>
					<p class="muted">
						<code>{runs.logdir}</code>
					</p>
				</div>
				{runs.history && (
					<a class="button" href={formatQuery({ history: "1" })}>
						History
					</a>
				)}
				{runs.capture && <CaptureButton runs={runs} />}
			</header>
			{runs.bucket && (
				<p class="muted" data-bucket={runs.bucket.requests}>
					{count(runs.bucket.objects)} objects in the bucket. So far {count(runs.bucket.requests)}{" "}
					{runs.bucket.requests === 1 ? "request" : "requests"}, {bytes(runs.bucket.fetched_bytes)} fetched: a file is fetched when a
					tool opens it.
				</p>
			)}
			{(runs.skipped ?? []).map((s) => s.path === runs.logdir && <Failure key={s.why} text={`${s.path} ${s.why}`} />)}
			{runs.runs.length ? <RunList runs={runs.runs} remote={!!runs.bucket} /> : <Nothing runs={runs} />}
		</main>
	);
}

function RunList({ runs, remote }: { runs: readonly Run[]; remote: boolean }) {
	const [filter, setFilter] = useState("");
	const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
	const shown = runs.filter((r) => words.every((w) => `${r.run} ${r.hosts.join(" ")}`.toLowerCase().includes(w)));
	const now_s = Date.now() / 1000;
	return (
		<section class="card" aria-label="Runs">
			{runs.length > 8 && (
				<div class="grid-bar">
					<input
						class="input"
						type="search"
						placeholder="Filter runs and hosts"
						aria-label="Filter runs and hosts"
						value={filter}
						onInput={(e) => setFilter(e.currentTarget.value)}
					/>
					<span class="muted" role="status">
						{count(shown.length)} of {count(runs.length)} runs
					</span>
				</div>
			)}
			<div class="scroll">
				<table class="plain-table runs-table">
					<thead>
						<tr>
							<th>Run</th>
							<th>Recorded</th>
							<th>Device</th>
							<th>Hosts</th>
							<th class="num">Step time</th>
							<th class="num">Size</th>
						</tr>
					</thead>
					<tbody>
						{shown.map((r) => (
							<RunRow key={r.run} run={r} now_s={now_s} remote={remote} />
						))}
					</tbody>
				</table>
			</div>
			{!shown.length && <p class="empty">No run matches “{filter}”.</p>}
		</section>
	);
}

/* Its device and step time are asked for once the row is on the screen. */
function RunRow({ run, now_s, remote }: { run: Run; now_s: number; remote: boolean }) {
	const row = useRef<HTMLTableRowElement>(null);
	const { facts, error, measure } = useRunFacts(run, row, remote);
	const recorded_s = facts?.recorded_s ?? run.time_s;
	return (
		<tr ref={row} data-run={run.run}>
			<td>
				<a class="run-link" href={formatQuery({ run: run.run })} title={run.path}>
					{run.run}
				</a>
			</td>
			<td>
				<span data-recorded={recorded_s} title={facts?.recorded_s ? "By the profile's own clock" : "When its file was written: the profile does not record its time"}>
					{date_s(recorded_s)}
				</span>{" "}
				<span class="muted">
					{facts && !facts.recorded_s ? "file written " : ""}
					{ago(recorded_s, now_s)}
				</span>
			</td>
			<td>
				{facts && (
					<>
						{facts.device || (facts.cores > 0 ? "unknown" : "–")} {facts.cores > 0 && <span class="muted">× {count(facts.cores)}</span>}
					</>
				)}
				{error && (
					<span class="run-bad" title={error}>
						cannot be read
					</span>
				)}
			</td>
			<td class="muted" title={run.hosts.join(", ")}>
				{run.hosts.length >= MANY_HOSTS ? (
					<a href={formatQuery({ run: run.run, tool: "host_steps" })} title="Every host and step">
						{hostList(run.hosts)}
					</a>
				) : (
					hostList(run.hosts)
				)}
			</td>
			<td class="num">
				{measure ? (
					<button
						class="link"
						onClick={measure}
						title={
							remote ? "Its files are fetched when you ask for them" : "This run is large: its steps are read when you ask for them"
						}
					>
						measure
					</button>
				) : (
					facts && <StepTime facts={facts} />
				)}
			</td>
			<td class="num">{bytes(run.bytes)}</td>
		</tr>
	);
}

function StepTime({ facts }: { facts: RunFacts }) {
	if (facts.steps === undefined) return <span class="muted">…</span>;
	return (
		<>
			{facts.steps && typeof facts.step_ms === "number" ? (
				<>
					<span data-step={facts.step_ms}>{time_ps(facts.step_ms * 1e9)}</span>{" "}
					<span class="muted">
						{(facts.step_ms_deviation ?? 0) > 0 ? `±\u00a0${time_ps((facts.step_ms_deviation ?? 0) * 1e9)}, ` : ""}
						{count(facts.steps)}&nbsp;{facts.steps === 1 ? "step" : "steps"}
					</span>
				</>
			) : (
				<span class="muted">no steps</span>
			)}
			{facts.limit && <div class="run-waits">{facts.limit}</div>}
		</>
	);
}

/* So many hosts are entered by the matrix of hosts and steps. */
const MANY_HOSTS = 4;

function hostList(hosts: readonly string[]): string {
	return hosts.length <= 2 ? hosts.join(", ") : `${count(hosts.length)} hosts: ${hosts[0]}, …`;
}

const WAYS: readonly { title: string; code: string }[] = [
	{
		title: "JAX",
		code: "with jax.profiler.trace(LOGDIR):\n    for batch in batches:\n        state = train_step(state, batch)\n    jax.block_until_ready(state)",
	},
	{
		title: "TensorFlow",
		code: 'tf.profiler.experimental.start(LOGDIR)\nfor step, batch in enumerate(batches):\n    with tf.profiler.experimental.Trace("train", step_num=step, _r=1):\n        train_step(batch)\ntf.profiler.experimental.stop()',
	},
	{
		title: "Keras",
		code: "model.fit(data, callbacks=[\n    keras.callbacks.TensorBoard(LOGDIR, profile_batch=(10, 20))])",
	},
	{
		title: "PyTorch/XLA",
		code: "import torch_xla.debug.profiler as xp\nserver = xp.start_server(9012)  # in the program\n# from elsewhere, while it trains:\nxp.trace('localhost:9012', LOGDIR, duration_ms=2000)",
	},
	{
		title: "Any of them, while it runs",
		code: "# the program has its profiler's port open:\nstepscope capture -a HOST:PORT -d 2000 -l LOGDIR\n# or watch it first:\nstepscope monitor -a HOST:PORT",
	},
	{
		title: "NVIDIA GPUs, an unchanged program",
		code: "stepscope record --logdir LOGDIR -- python3 train.py",
	},
];

function Nothing({ runs }: { runs: Runs }) {
	const skipped = runs.skipped ?? [];
	return (
		<>
			<section class="card">
				<h2>No profile here yet</h2>
				<p>
					A profile is a file <code>plugins/profile/RUN/HOST.xplane.pb</code> somewhere below the log directory. Once
					there is one, reload this page.
				</p>
				{skipped.length > 0 && (
					<>
						<h3>Skipped files</h3>
						<table class="plain-table">
							<tbody>
								{skipped.map((l) => (
									<tr key={l.path}>
										<td>
											<code>{l.path}</code>
										</td>
										<td>{l.why}</td>
									</tr>
								))}
							</tbody>
						</table>
					</>
				)}
			</section>
			<section class="card">
				<h2>To record one</h2>
				<div class="ways">
					{WAYS.map((w) => (
						<div key={w.title}>
							<h3>{w.title}</h3>
							<pre tabIndex={0}>
								<code>{w.code.replace(/LOGDIR/g, `"${runs.logdir}"`)}</code>
							</pre>
						</div>
					))}
				</div>
			</section>
		</>
	);
}
