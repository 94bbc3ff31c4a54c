/*
 * step_colors.ts - the parts of a step and their colours: work is green, waiting for input is red, idle is grey; what moves data is
 * blue to violet. The same part has the same colour on every page.
 */
import { css, pixel, oklchToRgb } from "../base/color";

type Tone = readonly [lightness: number, chroma: number, hue: number];

const TONES: readonly [RegExp, Tone][] = [
	[/infeed|input/i, [0.66, 0.17, 27]],
	[/outfeed|output/i, [0.72, 0.12, 62]],
	[/idle/i, [0.74, 0.012, 250]],
	[/collective|all_?reduce/i, [0.62, 0.14, 305]],
	[/todevice|to_device/i, [0.66, 0.11, 285]],
	[/hosttransfer|host_transfer/i, [0.72, 0.1, 215]],
	[/compile/i, [0.74, 0.12, 95]],
	[/launch/i, [0.66, 0.12, 330]],
	[/hostcompute|host_compute|^host/i, [0.65, 0.11, 250]],
	[/communication/i, [0.66, 0.11, 285]],
	[/low_?flops/i, [0.84, 0.09, 140]],
	[/compute|device/i, [0.7, 0.13, 152]],
	[/other/i, [0.8, 0.02, 250]],
];

const SPARE: readonly Tone[] = [
	[0.7, 0.1, 180],
	[0.7, 0.1, 120],
	[0.65, 0.1, 350],
	[0.7, 0.1, 40],
];

export function stepColor(id: string, n: number, dark: boolean): string {
	const tone = TONES.find(([re]) => re.test(id))?.[1] ?? SPARE[n % SPARE.length] ?? [0.7, 0.1, 0];
	return css(pixel(...oklchToRgb(dark ? tone[0] - 0.06 : tone[0], tone[1], tone[2])));
}
