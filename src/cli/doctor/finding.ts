import { cleanText } from '../../../components/text/clean.js';

/** `fail`: nothing can be served like this, unless it says what can; `warn`: something is missing, or not known. */
export type Level = 'ok' | 'warn' | 'fail';

export type Area = 'engines' | 'devices' | 'places' | 'terminal' | 'program';

/** One thing that was looked at. Texts may hold words of drivers and programs: printed by `describeFindings` only. */
export interface Finding {
  readonly area: Area;
  readonly level: Level;
  /** What was looked at, one or two words. */
  readonly name: string;
  /** What was found, in one sentence. */
  readonly text: string;
  /** What to do about it; null where there is nothing to do. */
  readonly fix: string | null;
  /** What can be served although it failed; absent: nothing. */
  readonly stillServed?: string;
}

const TITLES: Readonly<Record<Area, string>> = {
  engines: 'Engines',
  devices: 'Devices',
  places: 'Port and directories',
  terminal: 'Terminal',
  program: 'This program',
};

const NAME_WIDTH = 14;
const INDENT = ' '.repeat(NAME_WIDTH + 10);
/** What a driver says at length is cut: the whole of it is in the JSON. */
const LONGEST_TEXT = 400;

/** Findings as lines of text, grouped by what they are about, each problem with what to do; then what it comes to. */
export function describeFindings(findings: readonly Finding[]): string {
  const areas = (Object.keys(TITLES) as Area[]).filter((area) => findings.some((finding) => finding.area === area));
  const lines = areas.flatMap((area) => [
    TITLES[area],
    ...findings.filter((finding) => finding.area === area).flatMap(linesOf),
    '',
  ]);
  return [...lines, conclusionOf(findings), ''].join('\n');
}

/** True when models can be served as things are, wherever they go. */
export function canServe(findings: readonly Finding[]): boolean {
  return findings.every(({ level }) => level !== 'fail');
}

function linesOf({ level, name, text, fix }: Finding): readonly string[] {
  const said = printable(text);
  return [
    `  ${level.padEnd(4)}  ${printable(name).padEnd(NAME_WIDTH)}  ${said}`,
    ...(fix === null ? [] : [`${INDENT}fix: ${printable(fix)}`]),
  ];
}

function conclusionOf(findings: readonly Finding[]): string {
  const count = (level: Level): number => findings.filter((finding) => finding.level === level).length;
  if (!canServe(findings)) {
    const what = servedAllTheSame(findings);
    return `${what === null ? 'Nothing' : `Only ${what}`} can be served as things are: see what says fail (${count('fail')}).`;
  }
  return count('warn') === 0 ? 'All is well.' : `Models can be served; ${count('warn')} to look at (warn).`;
}

function servedAllTheSame(findings: readonly Finding[]): string | null {
  const served = findings.flatMap(({ level, stillServed = null }) => (level === 'fail' ? [stillServed] : []));
  return served.includes(null) ? null : (served[0] ?? null);
}

function printable(text: string): string {
  const clean = cleanText(text);
  return clean.length > LONGEST_TEXT ? `${clean.slice(0, LONGEST_TEXT)}…` : clean;
}
