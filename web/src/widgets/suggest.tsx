/*
 * suggest.tsx - a text field that offers what there is: names that fit what has been typed, chosen by pointer or keys.
 */
import { useState } from "preact/hooks";
import { classes } from "../base/dom";
import { Icon } from "./icon";

export interface Offer {
	name: string;
	about: string;
}

export interface SuggestProps {
	id: string;
	label: string;
	placeholder: string;
	text: string;
	onText: (text: string) => void;
	offers: readonly Offer[];
	more: string; /* said below the offers, e.g. "200 of 1,234" */
	onChoose: (name: string) => void;
}

export function Suggest({ id, label, placeholder, text, onText, offers, more, onChoose }: SuggestProps) {
	const [open, setOpen] = useState(false);
	const [at, setAt] = useState(0);
	const shown = open && offers.length > 0;
	const choose = (name: string) => {
		setOpen(false);
		onChoose(name);
	};
	const keys = (e: KeyboardEvent) => {
		if (e.key === "ArrowDown" || e.key === "ArrowUp") {
			setOpen(true);
			if (shown) setAt((i) => (i + (e.key === "ArrowDown" ? 1 : offers.length - 1)) % offers.length);
		} else if (e.key === "Enter") {
			const name = (shown && offers[at]?.name) || text.trim();
			if (name) choose(name);
		} else if (e.key === "Escape") setOpen(false);
		else return;
		e.preventDefault();
	};
	return (
		<div class="suggest" onFocusOut={(e) => e.currentTarget.contains(e.relatedTarget as Node | null) || setOpen(false)}>
			<label class="search-box">
				<Icon name="search" />
				<input
					class="input"
					type="search"
					role="combobox"
					aria-label={label}
					aria-expanded={shown}
					aria-controls={`${id}-list`}
					aria-autocomplete="list"
					aria-activedescendant={shown ? `${id}-${at}` : undefined}
					placeholder={placeholder}
					autoComplete="off"
					spellcheck={false}
					value={text}
					onInput={(e) => {
						setAt(0);
						setOpen(true);
						onText(e.currentTarget.value);
					}}
					onFocus={() => setOpen(true)}
					onKeyDown={keys}
				/>
			</label>
			<div class="suggest-list" id={`${id}-list`} role="listbox" aria-label={label} hidden={!shown}>
				{offers.map((o, i) => (
					<div
						key={o.name}
						id={`${id}-${i}`}
						role="option"
						aria-selected={i === at}
						class={classes("suggest-item", i === at && "suggest-on")}
						onPointerEnter={() => setAt(i)}
						onPointerDown={(e) => {
							e.preventDefault();
							choose(o.name);
						}}
					>
						<span>{o.name}</span>
						<span class="muted">{o.about}</span>
					</div>
				))}
				{more && (
					<div class="suggest-more muted" role="presentation">
						{more}
					</div>
				)}
			</div>
		</div>
	);
}
