/*
 * programs.tsx - choosing a compiled program from the table "modules", which every answer about one has.
 */
import { propText, strings, table } from "../api/table";
import type { Result } from "../api/types";
import { adjust } from "../base/url";

export interface Program {
	name: string;
	host: string; /* the first that holds it */
	label: string; /* with the host, where programs of this name differ */
}

export function programsOf(result: Result | undefined): readonly Program[] {
	const t = result && table(result, "modules");
	const names = strings(t, "module_name") ?? [];
	const hosts = strings(t, "host") ?? [];
	const several = new Set(names.filter((name, i) => names.indexOf(name) !== i));
	return names.map((name, i) => ({ name, host: hosts[i] ?? "", label: several.has(name) ? `${name} on ${hosts[i]}` : name }));
}

/* The host whose program and times are shown. */
export function shownHost(result: Result | undefined): string {
	return propText(result && table(result, "modules"), "shown_host");
}

/* What the URL then says: the host only where the name does not tell which program is meant. */
function asked(p: Program | undefined): Record<string, string | undefined> {
	return { module_name: p?.name, program_id: undefined, ...(p && p.label !== p.name && { host: p.host }) };
}

interface ChoiceProps {
	programs: readonly Program[];
	/* "": whichever the program chooses. */
	name: string;
	host?: string;
	label?: string;
	/* The choice of none is offered under this name. */
	none?: string;
	/* What a choice makes void. */
	forget?: readonly string[];
}

export function ProgramChoice({ programs, name, host, label = "Program", none, forget = [] }: ChoiceProps) {
	const at = programs.findIndex((p) => p.name === name && (p.label === p.name || p.host === host));
	const known = at >= 0 || !name;
	return (
		<label class="field" title="Compiled program">
			<span>{label}</span>
			<select
				class="select"
				value={known ? String(at) : name}
				title={name}
				onChange={(e) =>
					adjust({ ...asked(programs[Number(e.currentTarget.value)]), ...Object.fromEntries(forget.map((k) => [k, undefined])) })
				}
			>
				{none !== undefined && <option value="-1">{none}</option>}
				{!known && <option value={name}>{name}</option>}
				{programs.map((p, i) => (
					<option key={p.label} value={String(i)}>
						{p.label}
					</option>
				))}
			</select>
		</label>
	);
}
