import { readDevices } from '../../src/client/read-devices.js';
import type { Bytes, DeviceView, ReadDeviceView, UnreadDeviceView } from '../../src/client/types.js';
import { doubtShown, doubtText, isKnownByClaims } from '../text/device-doubt.js';
import { deviceFigures } from '../text/device-figures.js';
import { sizeText } from '../text/format.js';
import { textWidth } from '../text/width.js';
import { visibleText } from '../text/clean.js';
import { UNKNOWN_MARK } from '../theme/model-marks.js';
import { bar, type BarPart } from '../widgets/bar.js';
import { cell, cutRow, rowWidth, span, type Row } from '../widgets/row.js';
import { selectedIndex, type ScreenView } from '../view.js';

/** In a narrower row its cells are the bar's. */
const UTILIZATION_LEAST = 100;

/** In a narrower row there is no word for a driver that hides processes: the page of the device says it. */
const HIDDEN_LEAST = 80;

/** Fewer cells hold no words worth reading. */
const PROBLEM_LEAST = 14;

/** How much of a device row there is room for. */
interface DeviceShape {
  readonly cells: number;
  /** Cells that the description has at least, where it is so long; 0: it is not shown. */
  readonly description: number;
  readonly labels: readonly [held: string, reserved: string, external: string, free: string];
  readonly gap: string;
}

const LONG_LABELS: DeviceShape['labels'] = ['held', 'reserved', 'external', 'free'];

/** A bar of fewer cells says nothing. */
const CELLS_LEAST = 3;

/** Cells that are kept for what may have to be said of a device, so that nothing moves when it is. */
const REMARK_CELLS = 11;

function shapeFor(width: number): DeviceShape {
  if (width >= 200) return { cells: 48, description: 24, labels: LONG_LABELS, gap: '  ' };
  if (width >= 140) return { cells: 24, description: 24, labels: LONG_LABELS, gap: '  ' };
  if (width >= 100)
    return { cells: 14, description: 10 + Math.floor((width - 100) / 2), labels: LONG_LABELS, gap: ' ' };
  if (width >= 80) return { cells: 16, description: 0, labels: ['held', 'resv', 'ext', 'free'], gap: ' ' };
  return { cells: 10, description: 0, labels: ['h', 'r', 'x', 'f'], gap: ' ' };
}

/** One row per device: who holds it, and the four numbers that add up to its total; or that it could never be read. */
export function deviceRows(view: ScreenView, width: number): Row[] {
  const shape = shapeFor(width);
  const { glyphs } = view.options;
  const read = readDevices(view.lists.devices);
  const nameWidth = Math.min(
    10,
    Math.max(4, ...view.lists.devices.map((device) => textWidth(visibleText(device.name)))),
  );
  const focused = view.screen.focus === 'devices';
  const selected = selectedIndex(view.lists, view.screen, 'devices');
  const title = (device: DeviceView): Row => [
    focused && device === view.lists.devices[selected] ? span(`${glyphs.selected} `, 'accent') : span('  '),
    cell(device.name, nameWidth, glyphs.cut, 'strong'),
  ];
  const head = (device: ReadDeviceView, description: number, cells: number): Row => [
    ...title(device),
    ...(description > 0 ? [span(' '), cell(device.description, description, glyphs.cut, 'dim')] : []),
    span(' '),
    ...bar(barParts(device, view), device.totalBytes, device.marginBytes, cells, glyphs),
    span(' '),
    ...figureSpans(device, shape),
  ];
  const widestOf = (draw: (device: ReadDeviceView) => Row): number =>
    Math.max(0, ...read.map((device) => rowWidth(draw(device))));
  const longest = Math.max(0, ...read.map((device) => textWidth(visibleText(device.description))));
  const spare = width - REMARK_CELLS - 1 - widestOf((device) => head(device, 0, shape.cells));
  const description = shape.description === 0 ? 0 : Math.min(longest, Math.max(shape.description, spare));
  const draw = (device: ReadDeviceView, cells: number): Row => [
    ...head(device, description, cells),
    ...remarkSpans(device, view, shape.gap, width),
  ];
  // What must be known of a device comes before its picture: all bars get shorter where one row needs the room.
  const widest = widestOf((device) => draw(device, shape.cells));
  const cells = Math.max(CELLS_LEAST, Math.min(shape.cells, shape.cells - (widest - width)));
  return view.lists.devices.map((device) => {
    const row = device.totalBytes === null ? [...title(device), ...unreadSpans(device, view)] : draw(device, cells);
    return cutRow(withProblem(row, device, shape.gap, width), width, glyphs.cut);
  });
}

/** In the place of figures: there are none, and a bar without any would look like one that is empty. */
function unreadSpans(device: UnreadDeviceView, view: ScreenView): Row {
  const doubt = doubtShown(device, view);
  return doubt === null ? [] : [span(` ${doubtText(doubt)}`, 'warn')];
}

function figureSpans(device: ReadDeviceView, shape: DeviceShape): Row {
  const figures = deviceFigures(device);
  const values = [figures.held, figures.reserved, figures.external, figures.free];
  const spans = shape.labels.flatMap((label, index) => [
    span(`${index === 0 ? '' : shape.gap}${label} `, 'dim'),
    span((values[index] ?? '').padStart(4), index === 3 ? 'strong' : 'plain'),
  ]);
  return [
    ...spans,
    span(`${shape.gap === '  ' ? ' / ' : '/'}${figures.total.padStart(4)}`),
    span(` ${figures.unit}`, 'dim'),
  ];
}

/** The driver's own words where there is room for some of them; the page of the device has them all. */
function withProblem(row: Row, { problem }: DeviceView, gap: string, width: number): Row {
  if (problem === null || width - rowWidth(row) < PROBLEM_LEAST) return row;
  return [...row, span(`${gap}${problem}`, 'dim')];
}

/** What makes the figures less than they seem; where nothing does, how busy the device is. */
function remarkSpans(device: ReadDeviceView, view: ScreenView, gap: string, width: number): Row {
  const remarks: Row[number][] = [];
  if (device.overcommitBytes > 0) {
    const amount = sizeText(device.overcommitBytes);
    remarks.push(span(width < 80 ? `${gap}OVER ${amount}` : `${gap}OVER by ${amount}`, 'bad'));
  }
  const doubt = doubtShown(device, view);
  if (doubt !== null) remarks.push(span(`${gap}${doubtText(doubt)}`, 'warn'));
  else {
    if (device.utilizationPercent !== undefined && width >= UTILIZATION_LEAST)
      remarks.push(span(`${gap}util `, 'dim'), span(`${device.utilizationPercent}%`));
    if (isKnownByClaims(device) && width >= HIDDEN_LEAST) remarks.push(span(`${gap}by claims`, 'dim'));
  }
  return remarks;
}

/** In proportion to the figures beside it: of what was cut off there, as more than the device has, nothing is drawn. */
function barParts(device: ReadDeviceView, view: ScreenView): BarPart[] {
  const { glyphs } = view.options;
  const promised = (reserved: boolean): Bytes =>
    device.segments.reduce((sum, { part, bytes }) => sum + ((part === 'reserved') === reserved ? bytes : 0), 0);
  const shown = (bytes: Bytes, all: Bytes): number => (all > bytes ? bytes / all : 1);
  const ofHeld = shown(device.heldBytes, promised(false));
  const ofReserved = shown(device.reservedBytes, promised(true));
  const of = (part: 'held' | 'reserved' | 'releasing'): BarPart[] =>
    device.segments
      .filter((segment) => segment.part === part)
      .map((segment) => {
        const mark = view.marks.get(segment.model) ?? UNKNOWN_MARK;
        const glyph = part === 'held' ? mark.letter : part === 'reserved' ? glyphs.reserved : glyphs.releasing;
        const bytes = segment.bytes * (part === 'reserved' ? ofReserved : ofHeld);
        return { bytes, glyph, tone: mark.tone };
      });
  return [
    ...of('held'),
    ...of('releasing'),
    ...of('reserved'),
    { bytes: device.externalBytes, glyph: glyphs.external, tone: 'external' },
    { bytes: device.freeBytes, glyph: glyphs.free, tone: 'dim' },
  ];
}
