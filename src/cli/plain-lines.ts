import { visibleText } from '../../components/text/clean.js';
import type { Decision } from '../scheduler/decisions.js';
import type { Millis } from '../scheduler/units.js';

/** One decision as a line of text, as it is printed where there is no screen. */
export function plainLine(decision: Decision): string {
  // Names come from files and clients, reasons from children: nothing in them may move the cursor, or be hidden.
  return `${timeOf(decision.at)} ${decision.kind.padEnd(8)} ${visibleText(decision.sentence)}`;
}

/** A notice likewise. */
export function noticeLine(at: Millis, notice: string): string {
  return `${timeOf(at)} notice: ${visibleText(notice)}`;
}

/** The time of day here, e.g. `09:05:00`. */
export function timeOf(at: Millis): string {
  const time = new Date(at);
  return [time.getHours(), time.getMinutes(), time.getSeconds()].map(twoDigits).join(':');
}

/** The day here, e.g. `2026-03-01`. */
export function dayOf(at: Millis): string {
  const time = new Date(at);
  return [time.getFullYear(), time.getMonth() + 1, time.getDate()].map(twoDigits).join('-');
}

function twoDigits(part: number): string {
  return String(part).padStart(2, '0');
}
