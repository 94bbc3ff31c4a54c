/*
 * start.tsx - what is in the log directory. With nothing in it: where was looked, what was wrong there, and how to record a profile.
 */
import { useState } from "preact/hooks";
import type { Run, Runs } from "../api/types";
import { ago, bytes, count, date_s } from "../base/format";
import { formatQuery } from "../base/url";

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
			</header>
			{runs.runs.length ? <RunList runs={runs.runs} /> : <Nothing runs={runs} />}
		</main>
	);
}

function RunList({ runs }: { runs: readonly Run[] }) {
	const [filter, setFilter] = useState("");
	const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
	const shown = runs.filter((r) => words.every((w) => `${r.run} ${r.hosts.join(" ")}`.toLowerCase().includes(w)));
	const now_s = Date.now() / 1000;
	return (
		<section class="card">
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
					<span class="muted">
						{count(shown.length)} of {count(runs.length)} runs
					</span>
				</div>
			)}
			<table class="plain-table runs-table">
				<thead>
					<tr>
						<th>Run</th>
						<th>Hosts</th>
						<th>Recorded</th>
						<th class="num">Size</th>
					</tr>
				</thead>
				<tbody>
					{shown.map((r) => (
						<tr key={r.run}>
							<td>
								<a class="run-link" href={formatQuery({ run: r.run })} title={r.path}>
									{r.run}
								</a>
							</td>
							<td class="muted" title={r.hosts.join(", ")}>
								{hostList(r.hosts)}
							</td>
							<td>
								{date_s(r.time_s)} <span class="muted">{ago(r.time_s, now_s)}</span>
							</td>
							<td class="num">{bytes(r.bytes)}</td>
						</tr>
					))}
				</tbody>
			</table>
			{!shown.length && <p class="empty">No run matches “{filter}”.</p>}
		</section>
	);
}

function hostList(hosts: readonly string[]): string {
	return hosts.length <= 3 ? hosts.join(", ") : `${count(hosts.length)} hosts: ${hosts[0]}, …`;
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
];

function Nothing({ runs }: { runs: Runs }) {
	const looked = runs.looked_at ?? [];
	return (
		<>
			<section class="card">
				<h2>No profile here yet</h2>
				<p>
					A profile is a file <code>plugins/profile/RUN/HOST.xplane.pb</code> somewhere below the log directory. Once
					there is one, reload this page.
				</p>
				{looked.length > 0 && (
					<>
						<h3>What was looked at</h3>
						<table class="plain-table">
							<tbody>
								{looked.map((l) => (
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
							<pre>
								<code>{w.code.replace(/LOGDIR/g, `"${runs.logdir}"`)}</code>
							</pre>
						</div>
					))}
				</div>
			</section>
		</>
	);
}
