import {
  ANY,
  characterRule,
  complement,
  DIGITS,
  NOT_SPACE,
  SPACE,
  union,
  WORD,
  type Characters,
} from './text-classes.js';

/** The inside of a JSON text that matches a pattern, as GBNF, and how many characters it has. */
export interface PatternRule {
  readonly rule: string;
  readonly least: number;
  readonly most: number;
}

interface Part extends PatternRule {
  /** Once repetitions are written out, as llama.cpp does. */
  readonly parts: number;
}

const MOST_PARTS = 4000;
const DEEPEST = 50;
const CLASSES: Readonly<Record<string, Characters>> = {
  d: DIGITS,
  D: complement(DIGITS),
  w: WORD,
  W: complement(WORD),
  s: SPACE,
  S: NOT_SPACE,
};
const CONTROLS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', f: '\f', v: '\v' };
const NOTHING: Part = { rule: '""', least: 0, most: 0, parts: 0 };
const ANYTHING: Part = { rule: 'char*', least: 0, most: Infinity, parts: 1 };

class Unsupported extends Error {}

/** Reads a regular expression as JSON schemas have them; null for what has no counterpart, such as looking ahead. */
export function patternRule(pattern: string): PatternRule | null {
  try {
    // What is no regular expression to begin with would be read as something.
    new RegExp(pattern);
    return readPattern(Array.from(pattern));
  } catch {
    return null;
  }
}

function readPattern(text: readonly string[]): Part {
  let at = 0;
  let depth = 0;
  const next = (): string => {
    const character = text[at];
    if (character === undefined) throw new Unsupported();
    at += 1;
    return character;
  };
  const take = (wanted: string): boolean => {
    if (text[at] !== wanted) return false;
    at += 1;
    return true;
  };

  /** An anchor binds to one alternative; what has none may have anything before or after it. */
  const whole = (): Part => {
    const options: Part[] = [];
    do {
      const before = take('^') ? NOTHING : ANYTHING;
      const inner = sequence();
      options.push(join([before, inner, take('$') ? NOTHING : ANYTHING]));
    } while (take('|'));
    if (at < text.length) throw new Unsupported();
    return either(options);
  };

  const group = (): Part => {
    depth += 1;
    if (depth > DEEPEST || (take('?') && !take(':'))) throw new Unsupported();
    const options = [sequence()];
    while (take('|')) options.push(sequence());
    if (!take(')')) throw new Unsupported();
    depth -= 1;
    return either(options);
  };

  const sequence = (): Part => {
    const parts: Part[] = [];
    while (at < text.length && !'|)$'.includes(text[at] ?? '')) parts.push(repeat(atom(), repetition()));
    return join(parts);
  };

  const atom = (): Part => {
    const character = next();
    switch (character) {
      case '(':
        return group();
      case '[':
        return ofSet(set());
      case '.':
        return ofSet(ANY);
      case '\\': {
        const found = escaped();
        return typeof found === 'string' ? ofText(found) : ofSet(found);
      }
      case '^':
        throw new Unsupported();
      default:
        return ofText(character);
    }
  };

  const set = (): Characters => {
    const negated = take('^');
    const members: Characters[] = [];
    while (!take(']')) {
      const from = member();
      if (typeof from !== 'string') {
        members.push(from);
        continue;
      }
      const isRange = text[at] === '-' && text[at + 1] !== ']';
      if (isRange) next();
      const to = isRange ? member() : from;
      if (typeof to !== 'string') throw new Unsupported();
      members.push([[codeOf(from), codeOf(to)]]);
    }
    return negated ? complement(union(members)) : union(members);
  };
  const member = (): string | Characters => {
    const character = next();
    return character === '\\' ? escaped() : character;
  };

  const escaped = (): string | Characters => {
    const letter = next();
    const known = CLASSES[letter] ?? CONTROLS[letter];
    if (known !== undefined) return known;
    if (letter === 'x' || letter === 'u') {
      const digits = Array.from({ length: letter === 'x' ? 2 : 4 }, next).join('');
      if (/^(?:d[89a-f]|.*[^\da-f])/iu.test(digits)) throw new Unsupported();
      return String.fromCodePoint(Number.parseInt(digits, 16));
    }
    if (/[\p{L}\d]/u.test(letter)) throw new Unsupported();
    return letter;
  };

  const repetition = (): readonly [number, number] => {
    const found = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/u.exec(text.slice(at, at + 16).join(''));
    if (found === null) return [1, 1];
    at += found[0].length;
    const [, mark, least, comma, most] = found;
    if (mark !== undefined) return [mark === '+' ? 1 : 0, mark === '?' ? 1 : Infinity];
    return [Number(least), most !== '' ? Number(most) : comma === ',' ? Infinity : Number(least)];
  };

  return whole();
}

function ofText(character: string): Part {
  const inJson = JSON.stringify(character).slice(1, -1);
  return { rule: JSON.stringify(inJson), least: 1, most: 1, parts: 1 };
}

function ofSet(characters: Characters): Part {
  const rule = characterRule(characters);
  if (rule === null) throw new Unsupported();
  return { rule, least: 1, most: 1, parts: 1 };
}

function join(parts: readonly Part[]): Part {
  const filled = parts.filter((part) => part !== NOTHING);
  if (filled.length === 0) return NOTHING;
  const sum = (value: (part: Part) => number): number => filled.reduce((total, part) => total + value(part), 0);
  if (sum(({ parts: each }) => each) > MOST_PARTS) throw new Unsupported();
  return {
    rule: filled.map(({ rule }) => rule).join(' '),
    least: sum(({ least }) => least),
    most: sum(({ most }) => most),
    parts: sum(({ parts: each }) => each),
  };
}

function either(options: readonly Part[]): Part {
  return {
    rule: `( ${options.map(({ rule }) => rule).join(' | ')} )`,
    least: Math.min(...options.map(({ least }) => least)),
    most: Math.max(...options.map(({ most }) => most)),
    parts: options.reduce((total, { parts }) => total + parts, 0),
  };
}

function repeat(part: Part, [least, most]: readonly [number, number]): Part {
  if (least === 1 && most === 1) return part;
  if (most === 0 || part.most === 0) return NOTHING;
  return {
    rule: `${part.rule}{${least},${most === Infinity ? '' : most}}`,
    least: part.least * least,
    most: part.most * most,
    parts: part.parts * (most === Infinity ? least + 1 : most),
  };
}

function codeOf(character: string): number {
  return character.codePointAt(0) ?? 0;
}
