import type { Bytes, DeviceBytes, Millis, SupervisorEnd } from '../../src/client/types.js';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `18.1`: GiB with one decimal; `<0.1` for something that would read as nothing. */
export function gibText(bytes: Bytes): string {
  const tenths = Math.round((bytes / GIB) * 10);
  if (tenths === 0 && bytes > 0) return '<0.1';
  return (tenths / 10).toFixed(1);
}

/** `18.1 GiB`, or `312 MiB` for less than one GiB. */
export function sizeText(bytes: Bytes): string {
  if (bytes >= GIB || bytes === 0) return `${gibText(bytes)} GiB`;
  if (bytes >= MIB) return `${Math.round(bytes / MIB)} MiB`;
  return `${Math.ceil(bytes / 1024)} KiB`;
}

/** The bytes of all devices together, or null when no device is named. */
export function sumBytes(bytes: DeviceBytes): Bytes | null {
  const values = Object.values(bytes);
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0);
}

/** `12s`, `5m`, `3h12`, `2d4h`: whole units, rounded down. Negative spans (clocks differ) are 0. */
export function durationText(millis: Millis): string {
  const span = Math.max(0, millis);
  if (span < MINUTE) return `${Math.floor(span / SECOND)}s`;
  if (span < HOUR) return `${Math.floor(span / MINUTE)}m`;
  if (span < DAY) return `${Math.floor(span / HOUR)}h${two(Math.floor((span % HOUR) / MINUTE))}`;
  return `${Math.floor(span / DAY)}d${Math.floor((span % DAY) / HOUR)}h`;
}

/** `0.2s`, `5s`: how often something is done. */
export function rateText(millis: Millis): string {
  return `${millis / SECOND}s`;
}

/** Like `durationText`, but under a minute in steps of ten seconds, `<10s` first, so that an idle screen stays still. */
export function idleText(millis: Millis): string {
  const span = Math.max(0, millis);
  if (span < 10 * SECOND) return '<10s';
  return durationText(span < MINUTE ? Math.floor(span / (10 * SECOND)) * 10 * SECOND : span);
}

/** To the second while it may be a hiccup, then coarser: what is gone for good must not keep the screen busy. */
export function staleText(millis: Millis): string {
  return millis < 10 * SECOND ? durationText(millis) : idleText(millis);
}

/** How long something has run, never finer than a minute. */
export function uptimeText(millis: Millis): string {
  return millis < MINUTE ? '<1m' : durationText(millis);
}

/** `HH:MM:SS` in the local time zone. */
export function clockText(at: Millis): string {
  const date = new Date(at);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** `32k`, `131k`, `512`: a context length in tokens; powers of two in units of 1024. */
export function tokensText(tokens: number | null): string {
  if (tokens === null) return '-';
  if (tokens < 1024) return String(tokens);
  return `${Math.round(tokens / 1024)}k`;
}

/** The sentence without the name of the model that it is about, for places where that is known. */
export function withoutName(sentence: string, model: string): string {
  return sentence.startsWith(`${model}: `) ? sentence.slice(model.length + 2) : sentence;
}

/** `SIGKILL`, `exit code 1`: how a process has ended. */
export function endText({ exitCode, signal }: Pick<SupervisorEnd, 'exitCode' | 'signal'>): string {
  return signal ?? `exit code ${exitCode ?? '-'}`;
}

/** `1 model`, `2 models`. */
export function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}
