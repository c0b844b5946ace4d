import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSseParser } from '../../src/client/sse-parser.js';

describe('the parser for event streams', () => {
  it('reads events with their names and joins data lines', () => {
    const events = createSseParser().push('event: delta\ndata: {"a":1}\n\ndata: one\ndata:two\n\n');
    expect(events).toEqual([
      { event: 'delta', data: '{"a":1}' },
      { event: 'message', data: 'one\ntwo' },
    ]);
  });

  it('accepts all three line ends and a byte order mark', () => {
    expect(createSseParser().push('\ufeffevent: a\r\ndata: 1\r\n\r\n')).toEqual([{ event: 'a', data: '1' }]);
    expect(createSseParser().push('event: a\rdata: 1\r\rdata: 2\r\r')).toEqual([{ event: 'a', data: '1' }]);
  });

  it('passes over comments, unknown fields and events without data', () => {
    expect(createSseParser().push(': ping\n\nid: 7\nretry: 10\n\nevent: x\n\ndata: y\n\n')).toEqual([
      { event: 'message', data: 'y' },
    ]);
  });

  it('holds back an event that is not complete', () => {
    const parser = createSseParser();
    expect(parser.push('data: half')).toEqual([]);
    expect(parser.push('\n')).toEqual([]);
    expect(parser.push('\n')).toEqual([{ event: 'message', data: 'half' }]);
  });

  it('gives the same events wherever the stream is cut', () => {
    const stream = 'event: snapshot\r\ndata: {"é":"\\n"}\r\n\r\n: ping\n\ndata: a\rdata: b\r\rdata: c\n\n';
    const whole = createSseParser().push(stream);
    fc.assert(
      fc.property(fc.array(fc.nat(stream.length)), (cuts) => {
        const parser = createSseParser();
        const places = [0, ...cuts.toSorted((a, b) => a - b), stream.length];
        const events = places.slice(1).flatMap((end, index) => parser.push(stream.slice(places[index], end)));
        expect(events).toEqual(whole);
      }),
    );
  });
});
