/** What a JSON text names as its model. `other`: JSON, but no object at its top. */
export type JsonModel =
  | { readonly kind: 'model'; readonly model: string }
  | { readonly kind: 'none' }
  | { readonly kind: 'not-a-name' }
  | { readonly kind: 'other' }
  | { readonly kind: 'invalid' };

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const MINUS = 0x2d;
const PLUS = 0x2b;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const LOWER_E = 0x65;
const LOWER_U = 0x75;

/** `"model"` between its quotes. */
const KEY = Buffer.from('model');

/** One-character escapes: `" \ / b f n r t`. */
const ESCAPES = flags((byte) => [QUOTE, BACKSLASH, 0x2f, 0x62, 0x66, 0x6e, 0x72, 0x74].includes(byte));

const LITERALS = [Buffer.from('true'), Buffer.from('false'), Buffer.from('null')];

/** Bytes at which something happens in a string: its end, an escape, a control character, which may not be there. */
const SPECIAL = flags((byte) => byte < 0x20 || byte === QUOTE || byte === BACKSLASH);

/** Bytes of a string that are looked at one by one; what goes on without an escape is an image, and searched natively. */
const SHORT_BYTES = 256;

/**
 * The last top-level `model` of a JSON object, as JSON.parse would give it, without making anything of the rest: a body
 * may be many megabytes of base64, whose parsing would hold up every stream for as long. The whole text is checked on
 * the way, so that what is no JSON loads no model; only a bare control character far inside a long string is left to
 * the child to find.
 */
export function modelInJson(bytes: Buffer): JsonModel {
  return new Scanner(bytes).read();
}

class Scanner {
  readonly #bytes: Buffer;
  #at = 0;
  /** Where the value of the last top-level `model` is; none yet: -1. */
  #start = -1;
  #end = -1;
  /** The first of each at or after the place where it was last looked for: no stretch is searched twice. */
  #quote = -1;
  #backslash = -1;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  read(): JsonModel {
    // A byte order mark is left out, as a text decoder does.
    if (this.#bytes[0] === 0xef && this.#bytes[1] === 0xbb && this.#bytes[2] === 0xbf) this.#at = 3;
    this.#space();
    const isObject = this.#bytes[this.#at] === OPEN_OBJECT;
    if (!this.#value()) return { kind: 'invalid' };
    this.#space();
    if (this.#at < this.#bytes.length) return { kind: 'invalid' };
    if (!isObject) return { kind: 'other' };
    if (this.#start < 0) return { kind: 'none' };
    const value: unknown = JSON.parse(this.#bytes.toString('utf8', this.#start, this.#end));
    if (value === '' || value === null) return { kind: 'none' };
    return typeof value === 'string' ? { kind: 'model', model: value } : { kind: 'not-a-name' };
  }

  /** Passes a value, however deep, without recursion: a body may nest deeper than the stack. */
  #value(): boolean {
    const bytes = this.#bytes;
    // What is open around the present place, from the outside; true: an object.
    const open: boolean[] = [];
    for (;;) {
      const byte = bytes[this.#at];
      if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        this.#at += 1;
        this.#space();
        const inObject = byte === OPEN_OBJECT;
        if (bytes[this.#at] === (inObject ? CLOSE_OBJECT : CLOSE_ARRAY)) {
          this.#at += 1;
        } else {
          open.push(inObject);
          if (inObject && !this.#key(open.length)) return false;
          continue;
        }
      } else if (!this.#scalar()) {
        return false;
      }
      if (!this.#afterValue(open)) return false;
      if (open.length === 0) return true;
    }
  }

  /** Goes on to the next value: past a comma, or past the ends of what ends here. */
  #afterValue(open: boolean[]): boolean {
    const bytes = this.#bytes;
    while (open.length > 0) {
      if (open.length === 1 && this.#start >= 0 && this.#end < 0) this.#end = this.#at;
      this.#space();
      const inObject = open[open.length - 1] === true;
      const byte = bytes[this.#at];
      this.#at += 1;
      if (byte === COMMA) {
        this.#space();
        return !inObject || this.#key(open.length);
      }
      if (byte !== (inObject ? CLOSE_OBJECT : CLOSE_ARRAY)) return false;
      open.pop();
    }
    return true;
  }

  /** Passes a key and its colon; the value follows. */
  #key(depth: number): boolean {
    const start = this.#at + 1;
    if (this.#bytes[this.#at] !== QUOTE || !this.#string()) return false;
    const isModel = depth === 1 && this.#isModel(start, this.#at - 1);
    this.#space();
    if (this.#bytes[this.#at] !== COLON) return false;
    this.#at += 1;
    this.#space();
    if (isModel) {
      this.#start = this.#at;
      this.#end = -1;
    }
    return true;
  }

  #isModel(start: number, end: number): boolean {
    const bytes = this.#bytes;
    if (end - start === KEY.length) {
      for (let i = 0; i < KEY.length; i += 1) if (bytes[start + i] !== KEY[i]) return false;
      return true;
    }
    // Written with escapes, as in "\u006dodel", it is longer, and no longer than with nothing else.
    if (end - start < KEY.length || end - start > 6 * KEY.length) return false;
    return JSON.parse(bytes.toString('utf8', start - 1, end + 1)) === 'model';
  }

  #scalar(): boolean {
    const byte = this.#bytes[this.#at] ?? 0;
    if (byte === QUOTE) return this.#string();
    if (byte === MINUS || (byte >= ZERO && byte <= NINE)) return this.#number();
    for (const literal of LITERALS) {
      if (literal[0] !== byte) continue;
      for (let i = 0; i < literal.length; i += 1) if (this.#bytes[this.#at + i] !== literal[i]) return false;
      this.#at += literal.length;
      return true;
    }
    return false;
  }

  #string(): boolean {
    const bytes = this.#bytes;
    const { length } = bytes;
    let at = this.#at + 1;
    for (;;) {
      const short = Math.min(at + SHORT_BYTES, length);
      while (at < short && SPECIAL[bytes[at] ?? 0] === 0) at += 1;
      if (at === length) return false;
      if (at === short) at = this.#nextSpecial(at);
      const byte = bytes[at] ?? 0;
      at += 1;
      if (byte === QUOTE) {
        this.#at = at;
        return true;
      }
      // Behind the end of the text this is 0.
      if (byte !== BACKSLASH) return false;
      const escaped = bytes[at] ?? 0;
      at += 1;
      if (escaped === LOWER_U) {
        for (let i = 0; i < 4; i += 1) if (!isHex(bytes[at + i] ?? 0)) return false;
        at += 4;
      } else if (ESCAPES[escaped] === 0) {
        return false;
      }
    }
  }

  /** The next quote or backslash; the end of the text where there is neither. */
  #nextSpecial(at: number): number {
    this.#quote = this.#first(QUOTE, this.#quote, at);
    this.#backslash = this.#first(BACKSLASH, this.#backslash, at);
    return Math.min(this.#quote, this.#backslash);
  }

  #first(byte: number, known: number, at: number): number {
    if (known >= at) return known;
    const found = this.#bytes.indexOf(byte, at);
    return found < 0 ? this.#bytes.length : found;
  }

  #number(): boolean {
    const bytes = this.#bytes;
    let at = this.#at;
    if (bytes[at] === MINUS) at += 1;
    const whole = at;
    at = pastDigits(bytes, at);
    // No zero leads another digit.
    if (at === whole || (bytes[whole] === ZERO && at > whole + 1)) return false;
    if (bytes[at] === DOT) {
      const start = at + 1;
      at = pastDigits(bytes, start);
      if (at === start) return false;
    }
    // Upper case E differs in one bit.
    if (((bytes[at] ?? 0) | 0x20) === LOWER_E) {
      const sign = bytes[at + 1];
      const start = sign === PLUS || sign === MINUS ? at + 2 : at + 1;
      at = pastDigits(bytes, start);
      if (at === start) return false;
    }
    this.#at = at;
    return true;
  }

  #space(): void {
    const bytes = this.#bytes;
    let at = this.#at;
    while (isSpace(bytes[at] ?? 0)) at += 1;
    this.#at = at;
  }
}

/** For each byte whether something is true of it: 1 or 0. */
function flags(is: (byte: number) => boolean): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => Number(is(byte)));
}

function pastDigits(bytes: Buffer, start: number): number {
  let at = start;
  while (isDigit(bytes[at] ?? 0)) at += 1;
  return at;
}

function isSpace(byte: number): boolean {
  return byte <= 0x20 && (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09);
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= NINE;
}

function isHex(byte: number): boolean {
  const lower = byte | 0x20;
  return isDigit(byte) || (lower >= 0x61 && lower <= 0x66);
}
