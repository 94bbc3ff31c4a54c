/*
 * icon.tsx - the page's few signs, as paths of 16 x 16. They are decoration: the words stand in labels and titles.
 */
const PATHS = {
	right: "M6 3.5 10.5 8 6 12.5",
	down: "M3.5 6 8 10.5 12.5 6",
	up: "M3.5 10 8 5.5 12.5 10",
	left: "M10 3.5 5.5 8l4.5 4.5",
	close: "M4 4l8 8M12 4l-8 8",
	pin: "M6 2.5h4M6.5 2.5v4L4.5 9h7l-2-2.5v-4M8 9v4.5",
	search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9ZM10.5 10.5 14 14",
	sun: "M8 10.75a2.75 2.75 0 1 0 0-5.5 2.75 2.75 0 0 0 0 5.5ZM8 1.5V3M8 13v1.5M1.5 8H3M13 8h1.5M3.4 3.4l1.1 1.1M11.5 11.5l1.1 1.1M3.4 12.6l1.1-1.1M11.5 4.5l1.1-1.1",
	moon: "M13.5 9.5A5.75 5.75 0 0 1 6.5 2.5a5.75 5.75 0 1 0 7 7Z",
	auto: "M8 13.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11ZM8 2.5v11",
	download: "M8 2.5v7.5M4.75 7 8 10.25 11.25 7M3 13.25h10",
	copy: "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z",
	menu: "M2.5 4h11M2.5 8h11M2.5 12h11",
	select: "M4 2.5l8 5-3.6.9L6.6 12z",
	pan: "M8 2v12M2 8h12M6.25 3.75 8 2l1.75 1.75M6.25 12.25 8 14l1.75-1.75M3.75 6.25 2 8l1.75 1.75M12.25 6.25 14 8l-1.75 1.75",
	zoom: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9ZM10.5 10.5 14 14M7 5v4M5 7h4",
	measure: "M2.5 3v10M13.5 3v10M2.5 8h11M5 6 3 8l2 2M11 6l2 2-2 2",
	fit: "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
	help: "M5.75 6a2.25 2.25 0 1 1 3.3 2C8.3 8.4 8 8.8 8 9.75M8 12.5v.01",
	mark: "M4 14V2.5h8l-2 3 2 3H4",
	columns: "M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10",
	warn: "M8 2.5 14.5 13.5h-13zM8 6.5v3.25M8 11.6v.01",
	info: "M8 13.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11ZM8 7.25v3.5M8 5.2v.01",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
	return (
		<svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
			<path d={PATHS[name]} />
		</svg>
	);
}
