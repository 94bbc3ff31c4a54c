/*
 * capture.tsx - take a profile of running programs: what XProf's dialog asks for, progress, and the way into the new run.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { getJson, type Params } from "../api/fetch";
import type { Runs } from "../api/types";
import { formatQuery } from "../base/url";
import { Icon } from "../widgets/icon";
import { Failure, Notes } from "../widgets/notes";

const ROUTE = "data/plugin/profile/capture_profile";
const LEVELS = ["off", "critical", "info", "verbose"];

export function CaptureButton({ runs }: { runs: Runs }) {
	const [open, setOpen] = useState(false);
	return (
		<>
			<button class="button capture-open" onClick={() => setOpen(true)}>
				Capture a profile
			</button>
			{open && <CaptureDialog runs={runs} onClose={() => setOpen(false)} />}
		</>
	);
}

/* A capture under way: since when, how long it should take, and what breaks it off. */
interface Taking {
	since_ms: number;
	expected_ms: number;
	stop: AbortController;
}

function CaptureDialog({ runs, onClose }: { runs: Runs; onClose: () => void }) {
	const dialog = useRef<HTMLDialogElement>(null);
	const [taking, setTaking] = useState<Taking>();
	const [error, setError] = useState("");
	const [partial, setPartial] = useState<Taken>();
	const [named, setNamed] = useState(false);
	useEffect(() => {
		dialog.current?.showModal();
	}, []);
	const cancel = () => {
		taking?.stop.abort();
		setTaking(undefined);
		if (taking) void getJson(ROUTE, { cancel: "true" }).catch(() => undefined);
	};
	const submit = (e: SubmitEvent) => {
		e.preventDefault();
		const asked = readForm(e.currentTarget as HTMLFormElement, named);
		const stop = new AbortController();
		setError("");
		setPartial(undefined);
		setTaking({ since_ms: performance.now(), expected_ms: asked.expected_ms, stop });
		take(asked, runs, stop.signal)
			.then((taken) => {
				if (!taken.warning) return openRun(taken);
				setTaking(undefined);
				setPartial(taken);
			})
			.catch((why: Error) => {
				if (stop.signal.aborted) return;
				setTaking(undefined);
				setError(why.message);
			});
	};
	return (
		<dialog
			class="sheet capture"
			ref={dialog}
			aria-label="Capture a profile"
			onClose={() => {
				cancel();
				onClose();
			}}
			onKeyDown={(e) => e.stopPropagation()}
		>
			<div class="sheet-head">
				<h2>Capture a profile</h2>
				<button class="button button-icon" aria-label="Close" onClick={() => dialog.current?.close()}>
					<Icon name="close" />
				</button>
			</div>
			<form class="capture-form" onSubmit={submit}>
				<fieldset disabled={!!taking}>
					<Addresses named={named} setNamed={setNamed} />
					<Levels />
					<Advanced />
				</fieldset>
				{error && <Failure text={error} />}
				{/* Some hosts gave none: who, and why, before the others' profile is looked at. */}
				{partial && <Notes notes={[{ severity: "warning", text: `Not in the run: ${partial.warning ?? ""}` }]} />}
				{taking && <Progress taking={taking} />}
				{/* Two elements: a click on one that turns into the other would be a click on the other as well. */}
				<div class="capture-actions">
					{partial && (
						<button key="open" class="button" type="button" onClick={() => openRun(partial)}>
							Open the run
						</button>
					)}
					{taking ? (
						<button key="cancel" class="button" type="button" onClick={cancel}>
							Cancel
						</button>
					) : (
						<button key="capture" class="button button-main" type="submit">
							Capture
						</button>
					)}
				</div>
			</form>
		</dialog>
	);
}

function Addresses({ named, setNamed }: { named: boolean; setNamed: (named: boolean) => void }) {
	return (
		<>
			<label>
				<span>{named ? "TPU name" : "Addresses of the profilers"}</span>
				<input
					class="input"
					name="service_addr"
					required
					autocomplete="off"
					spellcheck={false}
					placeholder={named ? "my-tpu" : "localhost:6009,localhost:6010"}
				/>
			</label>
			<div class="capture-row" role="radiogroup" aria-label="Kind of address">
				<label class="check">
					<input type="radio" name="kind" checked={!named} onChange={() => setNamed(false)} /> host:port
				</label>
				<label class="check">
					<input type="radio" name="kind" checked={named} onChange={() => setNamed(true)} /> TPU name
				</label>
			</div>
			{named && (
				<label>
					<span>Workers, if not all</span>
					<input class="input" name="worker_list" spellcheck={false} placeholder="10.4.1.2:8466,10.4.1.3:8466" />
				</label>
			)}
		</>
	);
}

function Choice({ name, label, words, value }: { name: string; label: string; words: readonly string[]; value: number }) {
	return (
		<label>
			<span>{label}</span>
			<select class="select" name={name}>
				{words.map((w, i) => (
					<option key={w} value={i} selected={i === value}>
						{w}
					</option>
				))}
			</select>
		</label>
	);
}

function Amount({ name, label, value, most, least = 0 }: { name: string; label: string; value: number; most: number; least?: number }) {
	return (
		<label>
			<span>{label}</span>
			<input class="input" type="number" name={name} required min={least} max={most} defaultValue={String(value)} />
		</label>
	);
}

function Levels() {
	return (
		<div class="capture-grid">
			<Amount name="duration" label="Duration (ms)" value={1000} most={86400000} least={1} />
			<Choice name="host_tracer_level" label="Host events" words={LEVELS} value={2} />
			<Choice name="device_tracer_level" label="Device events" words={["off", "on"]} value={1} />
			<Choice name="python_tracer_level" label="Python calls" words={["off", "on"]} value={0} />
		</div>
	);
}

function Advanced() {
	return (
		<details>
			<summary>Retries and delay</summary>
			<div class="capture-grid">
				<Amount name="num_retry" label="Retries, if nothing is traced" value={3} most={1000} />
				<Amount name="delay" label="Delay (ms)" value={0} most={86400000} />
			</div>
		</details>
	);
}

interface Asked {
	params: Params;
	expected_ms: number;
	patience_ms: number;
}

function readForm(form: HTMLFormElement, named: boolean): Asked {
	const data = new FormData(form);
	const text = (name: string) => String(data.get(name) ?? "").trim();
	const params: Record<string, string> = { is_tpu_name: String(named) };
	for (const name of data.keys()) if (name !== "kind") params[name] = text(name);
	const expected_ms = Number(text("duration")) + Number(text("delay"));
	return { params, expected_ms, patience_ms: (1 + Number(text("num_retry"))) * (300000 + 2 * expected_ms) };
}

/* The run, and which hosts are not in it. */
interface Taken {
	run?: string | undefined;
	warning?: string | undefined;
}

/* Takes the profile. A pod's master does not say how the run is called: it is one that was not there before. */
async function take(asked: Asked, before: Runs, signal: AbortSignal): Promise<Taken> {
	const taken = await getJson<Taken>(ROUTE, asked.params, signal, asked.patience_ms);
	const after = await getJson<Runs>("api/runs", {}, signal);
	const names = after.runs.map((r) => r.run);
	const old = new Set(before.runs.map((r) => r.run));
	/* Runs in folders of the log directory have these before their names. */
	const made = names.find((r) => !!taken.run && r.endsWith(taken.run)) ?? names.find((r) => !old.has(r));
	return { run: made, warning: taken.warning };
}

function openRun(taken: Taken) {
	location.assign(taken.run ? formatQuery({ run: taken.run }) : "./");
}

/* How far the time has come; the transfer that follows has no length that is known before. */
function Progress({ taking }: { taking: Taking }) {
	const [now_ms, setNow] = useState(taking.since_ms);
	useEffect(() => {
		const timer = setInterval(() => setNow(performance.now()), 100);
		return () => clearInterval(timer);
	}, [taking]);
	const passed_ms = now_ms - taking.since_ms;
	const over = passed_ms >= taking.expected_ms;
	return (
		<div class="capture-progress">
			<progress value={over ? undefined : passed_ms} max={taking.expected_ms} aria-label="Capture" />
			<span class="muted" role="status">
				{over ? "Waiting for the programs to send…" : `${(passed_ms / 1000).toFixed(1)} s of ${(taking.expected_ms / 1000).toFixed(1)} s`}
			</span>
		</div>
	);
}
