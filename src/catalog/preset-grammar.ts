import { printable, quote } from './quote.js';
import { isSecret } from './secrets.js';

/** One `key = value` line. */
export interface PresetKey {
  readonly key: string;
  /** Without the blanks around it and without what a comment sign cut off. */
  readonly value: string;
  /** Counted from 1. */
  readonly line: number;
}

/** A section as it counts: the last one of its name, with the last value of each key. */
export interface PresetSection {
  readonly name: string;
  /** Line of the header, counted from 1; line of the first key for keys before any header. */
  readonly line: number;
  /** In file order of the key that counts. */
  readonly keys: readonly PresetKey[];
}

/** Something in the text that may not mean what its author thinks. */
export interface GrammarNotice {
  readonly line: number;
  readonly message: string;
  /** Set for what llama-server would not start on: what is wrong, without what it costs. See Presets.faults. */
  readonly fault?: string;
}

export interface PresetText {
  /** In file order. */
  readonly sections: readonly PresetSection[];
  readonly notices: readonly GrammarNotice[];
}

/** Keys before any header belong to a section of this name. */
export const DEFAULT_SECTION = 'default';

const KEY_LINE = /^([A-Za-z_][A-Za-z0-9_.-]*)[ \t]*=[ \t]*(.*)$/su;
/** Of a line that is shown because it makes no sense; UTF-16 units. */
const LONGEST_LINE = 60;
const NOTHING = /^[ \t]*(?:[;#].*)?$/su;
const PATH_TAIL = /\.(?:gguf|jinja|json|gbnf|bin|ini|txt|log)["']?[ \t]*$/iu;

/**
 * Reads the text of a preset file as llama-server's grammar reads it (its `common/preset.cpp`), with one difference:
 * a line that is neither section, key, comment nor blank makes llama-server refuse the whole file; here it is a notice
 * and the rest still counts. Keys under a broken section header belong to nobody, rather than to the section above it.
 * Never throws.
 */
export function parsePresetText(text: string): PresetText {
  const reader = new Reader();
  let rest = text;
  if (rest.startsWith('\uFEFF')) {
    rest = rest.slice(1);
    reader.say(1, 'the file begins with a byte order mark, which llama-server does not accept; save it without one');
  }
  rest.split(/\r\n|\n|\r/u).forEach((line, index) => {
    reader.read(line, index + 1);
  });
  return { sections: reader.sections(), notices: reader.notices };
}

interface OpenSection {
  readonly line: number;
  readonly keys: Map<string, PresetKey>;
}

class Reader {
  readonly notices: GrammarNotice[] = [];
  readonly #sections = new Map<string, OpenSection>();
  /** Null: under a header that could not be read. */
  #current: string | null = DEFAULT_SECTION;

  say(line: number, message: string): void {
    this.notices.push({ line, message });
  }

  #refuse(line: number, message: string, fault: string): void {
    this.notices.push({ line, message, fault });
  }

  read(text: string, line: number): void {
    if (NOTHING.test(text)) return;
    if (text.includes('\uFFFD')) this.say(line, 'this line holds bytes that are not UTF-8; save the file as UTF-8');
    if (text.startsWith('[')) {
      this.#header(text, line);
      return;
    }
    const match = KEY_LINE.exec(text);
    if (match === null) {
      const looksSecret = isSecret(/[\w-]+/u.exec(text)?.[0] ?? '');
      const what = looksSecret
        ? `it may hold a secret${hintFor(text)}`
        : `"${printable(text, LONGEST_LINE)}"${hintFor(text)}`;
      this.#refuse(line, `cannot be read and is left out: ${what}`, `cannot be read: ${what}`);
      return;
    }
    this.#key(match[1] ?? '', match[2] ?? '', line);
  }

  sections(): PresetSection[] {
    return [...this.#sections].map(([name, { line, keys }]) => ({ name, line, keys: [...keys.values()] }));
  }

  #header(text: string, line: number): void {
    const name = headerName(text);
    if (name === null) {
      this.#current = null;
      const what = `"${printable(text, LONGEST_LINE)}"; write it as [NAME]`;
      this.#refuse(
        line,
        `is no section header and is left out, with the keys below it: ${what}`,
        `is no section header: ${what}`,
      );
      return;
    }
    const earlier = this.#sections.get(name);
    if (earlier !== undefined) {
      const what = earlier.line === line ? '' : ` of line ${earlier.line}`;
      this.say(line, `section ${quote(name)} appears again and replaces the one${what} whole`);
    }
    if (/[ \t]$/u.test(name)) this.say(line, `the blank before "]" is part of the name ${quote(name)}`);
    // A later section also takes the later place: it is the one that counts.
    this.#sections.delete(name);
    this.#sections.set(name, { line, keys: new Map() });
    this.#current = name;
  }

  #key(key: string, raw: string, line: number): void {
    if (this.#current === null) {
      this.say(line, `key ${quote(key)} is left out: the section header above it could not be read`);
      return;
    }
    let section = this.#sections.get(this.#current);
    if (section === undefined) {
      section = { line, keys: new Map() };
      this.#sections.set(this.#current, section);
    }
    const value = this.#value(key, raw, line);
    const earlier = section.keys.get(key);
    if (earlier !== undefined) {
      this.say(line, `key ${quote(key)} appears again and replaces the value of line ${earlier.line}`);
      section.keys.delete(key);
    }
    section.keys.set(key, { key, value, line });
  }

  #value(key: string, raw: string, line: number): string {
    const at = raw.search(/[;#]/u);
    const kept = at < 0 ? raw : raw.slice(0, at);
    const value = trimBlanks(kept);
    const shown = isSecret(key) ? 'what is not shown' : quote(value);
    if (at >= 0 && cutsValue(kept, raw.slice(at))) {
      const sign = raw.charAt(at);
      this.say(line, `"${sign}" cut the value of ${quote(key)} to ${shown}: it begins a comment, also inside a value`);
    }
    if (/^(["']).*\1$/su.test(value)) {
      this.say(
        line,
        `the quotes are part of the value of ${quote(key)}: ${isSecret(key) ? shown : printable(value, 80)}; leave them out`,
      );
    }
    if (value.endsWith('\\')) {
      this.say(
        line,
        `the "\\" at the end of ${quote(key)} is part of the value: a line cannot be continued on the next`,
      );
    }
    if (/^~(?:\/|$)/u.test(value)) this.say(line, `"~" in ${quote(key)} is not replaced; write the whole path`);
    if (/(?:^|\/)\$\{?[A-Za-z_]/u.test(value)) {
      this.say(line, `the variable in ${quote(key)} is not replaced: ${shown}; write its value`);
    }
    return value;
  }
}

/** The name in `[NAME]`, blanks before it skipped and blanks after it kept; null when the line is no header. */
function headerName(text: string): string | null {
  const end = text.indexOf(']');
  if (end < 0 || !NOTHING.test(text.slice(end + 1))) return null;
  let start = 1;
  while (isBlank(text.charAt(start))) start += 1;
  return start < end ? text.slice(start, end) : null;
}

function isBlank(character: string): boolean {
  return character === ' ' || character === '\t';
}

/** Spaces and tabs only: anything else belongs to the value. */
function trimBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text.charAt(start))) start += 1;
  while (end > start && isBlank(text.charAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

/** True when a comment sign seems to stand inside what was meant as a value. */
function cutsValue(kept: string, comment: string): boolean {
  if (/[^ \t]$/u.test(kept)) return true;
  const openQuote = (kept.match(/"/gu)?.length ?? 0) % 2 === 1;
  return openQuote || (kept.includes('/') && PATH_TAIL.test(comment) && !PATH_TAIL.test(kept));
}

function hintFor(text: string): string {
  if (/^[ \t]/u.test(text)) return '; keys and sections begin at the start of a line';
  if (/^-/u.test(text)) return '; keys are written without dashes in front';
  if (!text.includes('=')) return '; a key needs "= VALUE"';
  return '; write KEY = VALUE';
}
