/*
 * fetch.ts - one way to ask the server. Addresses are relative, so the page works behind any prefix.
 * A failure is always an ApiError with a sentence for the reader: the server's own where it gave one.
 */

import { pending } from "../base/pending";
import { createStore } from "../base/store";
import { saved, savedAnswer } from "./saved";

export class ApiError extends Error {
	constructor(
		message: string,
		readonly status: number,
		readonly unanswered = false, /* nobody answered: the program may be gone */
		readonly fetching = false, /* the server fetches what the answer needs: it is to be asked again */
	) {
		super(message);
	}
}

export type Params = Readonly<Record<string, string | number | undefined>>;

export function address(route: string, params: Params = {}): string {
	const q = new URLSearchParams();
	for (const [k, v] of Object.entries(params)) if (v !== undefined && v !== "") q.set(k, String(v));
	const text = q.toString();
	return text ? `${route}?${text}` : route;
}

/* An analysis of a huge profile may take long, a dead server must not look like one for ever. */
const PATIENCE_MS = 120_000;

/* What is being fetched for answers that are waited for: the server's sentence, or "". */
export const fetching = createStore("");
const AGAIN_MS = 1000;
let waiting = 0;

function pause(signal: AbortSignal | undefined): Promise<void> {
	return new Promise((done) => {
		const timer = setTimeout(end, AGAIN_MS);
		function end() {
			clearTimeout(timer);
			signal?.removeEventListener("abort", end);
			done();
		}
		signal?.addEventListener("abort", end);
	});
}

/* A file that a server fetches from elsewhere takes as long as it takes. */
async function ask(
	route: string,
	params: Params | undefined,
	signal: AbortSignal | undefined,
	patience_ms?: number,
	body?: string,
): Promise<Response> {
	for (;;)
		try {
			return await askOnce(route, params, signal, patience_ms, body);
		} catch (e) {
			if (!(e instanceof ApiError && e.fetching) || signal?.aborted) throw e;
			waiting++;
			fetching.set(e.message);
			await pause(signal);
			if (--waiting === 0) fetching.set("");
			if (signal?.aborted) throw e;
		}
}

async function askOnce(
	route: string,
	params: Params | undefined,
	signal: AbortSignal | undefined,
	patience_ms = PATIENCE_MS,
	body?: string,
): Promise<Response> {
	if (saved) {
		const res = savedAnswer(saved, route, params ?? {});
		if (!res) throw new ApiError("This file does not hold the answer. Open the profile with stepscope to see it.", 404);
		return res;
	}
	const url = address(route, params);
	const limit = new AbortController();
	const stop = () => limit.abort();
	const timer = setTimeout(stop, patience_ms);
	signal?.addEventListener("abort", stop);
	try {
		const res = await fetch(url, { signal: limit.signal, ...(body !== undefined && { method: "POST", body }) });
		if (!res.ok) throw await failure(res);
		return res;
	} catch (e) {
		if (e instanceof ApiError || signal?.aborted) throw e;
		if (limit.signal.aborted) throw new ApiError(`The server gave no answer within ${Math.round(patience_ms / 1000)} s.`, 0);
		throw new ApiError("The server does not answer. Is stepscope still running?", 0, true);
	} finally {
		clearTimeout(timer);
		signal?.removeEventListener("abort", stop);
	}
}

async function failure(res: Response): Promise<ApiError> {
	const body = await res.text().catch(() => "");
	try {
		const error = (JSON.parse(body) as { error?: unknown }).error;
		const { text, fetching: later } = (typeof error === "object" && error ? error : { text: error }) as {
			text?: unknown;
			fetching?: unknown;
		};
		if (typeof text === "string" && text) return new ApiError(text, res.status, false, later === true);
	} catch {
		/* not our server's JSON: say what came */
	}
	return new ApiError(`The server answered ${res.status} ${res.statusText}`.trim() + ".", res.status);
}

async function json<T>(res: Response, signal?: AbortSignal): Promise<T> {
	try {
		return (await res.json()) as T;
	} catch (e) {
		if (signal?.aborted) throw e;
		throw new ApiError("The server's answer was cut short.", 0);
	}
}

export async function getJson<T>(route: string, params?: Params, signal?: AbortSignal, patience_ms?: number): Promise<T> {
	pending(1);
	try {
		return await json<T>(await ask(route, params, signal, patience_ms), signal);
	} finally {
		/* Behind what the answer sets off. */
		setTimeout(() => pending(-1));
	}
}

export async function postJson<T>(route: string, params: Params, body: string, signal?: AbortSignal): Promise<T> {
	return json<T>(await ask(route, params, signal, undefined, body), signal);
}

export async function getBytes(route: string, params?: Params, signal?: AbortSignal): Promise<ArrayBuffer> {
	const res = await ask(route, params, signal);
	return res.arrayBuffer();
}

export async function getText(route: string, params?: Params, signal?: AbortSignal): Promise<string> {
	const res = await ask(route, params, signal);
	return res.text();
}
