import type { Decision } from '../scheduler/decisions.js';

/** One decision as a line of text, as it is printed where there is no screen. */
export function plainLine(decision: Decision): string {
  return `${clock(decision.at)} ${decision.kind.padEnd(8)} ${decision.sentence}`;
}

function clock(at: number): string {
  const time = new Date(at);
  return [time.getHours(), time.getMinutes(), time.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':');
}
