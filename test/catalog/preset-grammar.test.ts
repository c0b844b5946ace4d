import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parsePresetText } from '../../src/catalog/preset-grammar.js';

/** Sections as `{ name: { key: value } }`. */
function meaning(text: string): Record<string, Record<string, string>> {
  const { sections } = parsePresetText(text);
  return Object.fromEntries(
    sections.map(({ name, keys }) => [name, Object.fromEntries(keys.map(({ key, value }) => [key, value]))]),
  );
}

function said(text: string): string[] {
  return parsePresetText(text).notices.map(({ line, message }) => `${line}: ${message}`);
}

describe('what a preset means', () => {
  const cases: [title: string, text: string, expected: Record<string, Record<string, string>>][] = [
    ['an empty file has no section', '', {}],
    ['LF ends a line', '[a]\nm = 1\n', { a: { m: '1' } }],
    ['CRLF ends a line', '[a]\r\nm = 1\r\n', { a: { m: '1' } }],
    ['CR ends a line', '[a]\rm = 1\r', { a: { m: '1' } }],
    ['a file may end without a line end', '[a]\nm = 1', { a: { m: '1' } }],
    ['comments begin with ; or #, also after blanks', '; x\n# y\n  \t; z\n[a]\nm = 1', { a: { m: '1' } }],
    ['a header may be followed by a comment', '[a] ; note\nm = 1', { a: { m: '1' } }],
    ['a section without keys is there', '[a]\n', { a: {} }],
    ['blanks around key and value do not count', '[a]\nm \t=\t  1 2  ', { a: { m: '1 2' } }],
    ['blanks are not needed', '[a]\nm=1', { a: { m: '1' } }],
    ['a value may hold =', '[a]\nm = x=y', { a: { m: 'x=y' } }],
    ['a value may be empty', '[a]\nm =', { a: { m: '' } }],
    ['a key may hold dots, dashes, digits', '[a]\n_k.e-y9 = 1', { a: { '_k.e-y9': '1' } }],
    ['; ends a value', '[a]\nm = 1 ; one', { a: { m: '1' } }],
    ['# ends a value', '[a]\nm = 1 # one', { a: { m: '1' } }],
    ['; ends a value inside a word', '[a]\nsamplers = top_k;top_p', { a: { samplers: 'top_k' } }],
    ['# ends a value inside a path', '[a]\nmodel = /m/c#/a.gguf', { a: { model: '/m/c' } }],
    ['quotes are part of a value', '[a]\nm = "x"', { a: { m: '"x"' } }],
    ['a backslash does not continue a line', '[a]\nm = x\\\ny = 1', { a: { m: 'x\\', y: '1' } }],
    ['keys before any header belong to default', 'm = 1\n[a]\nm = 2', { default: { m: '1' }, a: { m: '2' } }],
    ['a header [default] replaces the keys before it', 'm = 1\n[default]\nx = 2', { default: { x: '2' } }],
    ['a repeated section replaces the earlier one', '[a]\nm = 1\nx = 1\n[b]\n[a]\nm = 2', { b: {}, a: { m: '2' } }],
    ['a repeated key replaces the earlier value', '[a]\nm = 1\nm = 2', { a: { m: '2' } }],
    ['blanks before a name do not count, after it they do', '[  a b ]\nm = 1', { 'a b ': { m: '1' } }],
    ['a name may hold anything but ]', '[org/x:Q4 ; #[=]\nm = 1', { 'org/x:Q4 ; #[=': { m: '1' } }],
    ['an indented key is left out', '[a]\n m = 1\nx = 2', { a: { x: '2' } }],
    ['an indented header is left out', '[a]\n [b]\nx = 2', { a: { x: '2' } }],
    ['a key must not begin with a digit or a dash', '[a]\n1m = 1\n--m = 2\nx = 3', { a: { x: '3' } }],
    [
      'keys under a broken header belong to nobody',
      '[a]\nm = 1\n[b\nm = 2\n[c]\nm = 3',
      { a: { m: '1' }, c: { m: '3' } },
    ],
    ['a header without a name is broken', '[a]\n[]\nm = 1\n[ ]\nm = 2', { a: {} }],
    ['a header with something behind it is broken', '[a] b\nm = 1\n[c]\nm = 2', { c: { m: '2' } }],
    ['a byte order mark is passed over', '\uFEFF[a]\nm = 1', { a: { m: '1' } }],
  ];
  test.each(cases)('%s', (_title, text, expected) => {
    expect(meaning(text)).toEqual(expected);
  });

  test('sections and keys know their lines', () => {
    const { sections } = parsePresetText('; one\r\nm = 1\r\n\r\n[a]\r\nm = 2\r\n');
    expect(sections.map(({ line, keys }) => [line, keys.map((key) => key.line)])).toEqual([
      [2, [2]],
      [4, [5]],
    ]);
  });
});

describe('surprises are notices', () => {
  const cases: [title: string, text: string, expected: RegExp][] = [
    ['a line that is nothing', '[a]\nwhat is this', /^2: .*left out: "what is this"; a key needs "= VALUE"/],
    ['an indented key', '[a]\n m = 1', /^2: .*" m = 1"; keys and sections begin at the start of a line/],
    ['a key with dashes', '[a]\n--m = 1', /^2: .*keys are written without dashes/],
    ['a broken header', '[a\nm = 1', /^1: .*"\[a"; write it as \[NAME\]/],
    ['keys under a broken header', '[a\nm = 1', /^2: key "m" is left out/],
    ['; inside a word', '[a]\nsamplers = top_k;top_p', /^2: ";" cut the value of "samplers" to "top_k"/],
    ['# in a path', '[a]\nmodel = /m/c #1/a.gguf', /^2: "#" cut the value of "model" to "\/m\/c"/],
    ['; inside quotes', '[a]\nm = "a ; b"', /^2: ";" cut the value/],
    ['quotes', "[a]\nm = 'x'", /^2: the quotes are part of the value of "m": 'x'/],
    ['a continued line', '[a]\nm = x\\', /^2: .*cannot be continued/],
    ['~', '[a]\nmodel = ~/m.gguf', /^2: "~" in "model" is not replaced/],
    ['a variable', '[a]\nmodel = $HOME/m.gguf', /^2: the variable in "model" is not replaced/],
    ['a repeated section', '[a]\n[a]', /^2: section "a" appears again and replaces the one of line 1/],
    ['a repeated key', '[a]\nm = 1\nm = 2', /^3: key "m" appears again and replaces the value of line 2/],
    ['a blank at the end of a name', '[a ]', /^1: the blank before "\]" is part of the name "a "/],
    ['a byte order mark', '\uFEFF[a]', /^1: .*byte order mark/],
    ['bytes that are not UTF-8', '[a]\nm = \uFFFD', /^2: .*not UTF-8/],
  ];
  test.each(cases)('%s', (_title, text, expected) => {
    expect(said(text)).toContainEqual(expect.stringMatching(expected));
  });

  test.each([
    ['a comment after a value', '[a]\nmodel = /m/a.gguf ; the big one'],
    ['a comment that names a file', '[a]\nmodel = /m/a.gguf # was /m/b.gguf'],
    ['a quote inside a value', '[a]\nchat-template-kwargs = {"x": "y"}'],
    ['a dollar sign inside a word', '[a]\nm = a$b'],
  ])('%s is no surprise', (_title, text) => {
    expect(said(text)).toEqual([]);
  });

  test('control characters of the file do not reach a terminal', () => {
    expect(said('[a]\n\u001b[2Jx')[0]).not.toContain('\u001b');
  });
});

describe('any text', () => {
  const line = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('[a]', '[', ']', 'm = 1', 'm=', ' ;', '#', '\r', '\n', '\r\n', '\uFEFF', '"', '\\', '[*]', '\0'),
  );
  const anyText = fc.array(line, { maxLength: 40 }).map((parts) => parts.join(''));

  test('can be read, with every key and notice on a line that exists', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const lines = text.split(/\r\n|\n|\r/u).length;
        const { sections, notices } = parsePresetText(text);
        const at = [...sections.flatMap(({ keys }) => keys), ...sections, ...notices].map((item) => item.line);
        expect(at.every((number) => number >= 1 && number <= lines)).toBe(true);
        for (const { value } of sections.flatMap(({ keys }) => keys))
          expect(value).not.toMatch(/[;#\r\n]|^[ \t]|[ \t]$/u);
      }),
    );
  });

  test('line ends do not change the meaning', () => {
    const lines = fc.array(fc.constantFrom('[a]', '[b]', 'm = 1', 'n = x ; y', '', '; c', 'bad', '[bad'), {
      maxLength: 20,
    });
    fc.assert(
      fc.property(lines, fc.constantFrom('\r', '\r\n'), (list, end) => {
        expect(parsePresetText(list.join(end))).toEqual(parsePresetText(list.join('\n')));
      }),
    );
  });

  test('a long line of blanks is read in time that grows with its length', () => {
    const blanks = ' '.repeat(2_000_000);
    expect(parsePresetText(`[${blanks}\nm = ${blanks}x${blanks}`).sections).toEqual([]);
  });
});
