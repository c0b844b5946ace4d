import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { boundaryOf, multipartField } from '../../src/router/multipart.js';
import { requestedModel } from '../../src/router/requested-model.js';

interface Part {
  readonly headers: string;
  readonly content: Uint8Array;
}

function form(boundary: string, parts: readonly Part[]): Buffer {
  const pieces = parts.flatMap(({ headers, content }) => [
    Buffer.from(`--${boundary}\r\n${headers}\r\n\r\n`),
    Buffer.from(content),
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]);
}

const field = (name: string, value: string): Part => ({
  headers: `Content-Disposition: form-data; name="${name}"`,
  content: Buffer.from(value),
});
const file = (content: Uint8Array, name = 'file'): Part => ({
  headers: `Content-Disposition: form-data; name="${name}"; filename="a \\"model\\".wav"\r\nContent-Type: audio/wav`,
  content,
});

describe('the model in a form', () => {
  it('is found before and behind a file of any bytes', () => {
    const bytes = fc.uint8Array({ maxLength: 300 });
    fc.assert(
      fc.property(bytes, fc.boolean(), (content, first) => {
        const parts = first ? [field('model', 'a b'), file(content)] : [file(content), field('model', 'a b')];
        expect(multipartField(form('xYz', parts), 'xYz', 'model')).toBe('a b');
      }),
    );
  });

  it('is not a file that is called so, nor text in a file that looks like a field', () => {
    const lookalike = Buffer.from('\r\nContent-Disposition: form-data; name="model"\r\n\r\nwrong\r\n');
    expect(multipartField(form('b', [file(lookalike), file(lookalike, 'model')]), 'b', 'model')).toBeNull();
  });

  it.each([
    ['multipart/form-data; boundary=abc', 'abc'],
    ['Multipart/Form-Data; charset=utf-8; Boundary="a b c"', 'a b c'],
    ['multipart/form-data', null],
    ['application/json; boundary=abc', null],
  ])('has its boundary in %s', (contentType, boundary) => {
    expect(boundaryOf(contentType)).toBe(boundary);
  });

  it('is not looked for without a boundary, and what is missing is said', () => {
    const asked = {
      contentType: 'Multipart/Form-Data',
      query: new URLSearchParams(),
      body: form('b', [field('model', 'a')]),
    };
    expect(() => requestedModel(asked)).toThrow(/names no boundary/);
  });

  it('is not found in what is no form', () => {
    fc.assert(fc.property(fc.uint8Array(), (bytes) => multipartField(Buffer.from(bytes), 'b', 'model') === null));
  });
});
