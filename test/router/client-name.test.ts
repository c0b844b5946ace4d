import { describe, expect, it } from 'vitest';
import { clientName } from '../../src/router/client-name.js';

describe('the name of a client in a list of requests', () => {
  it.each([
    ['10.0.0.7', '10.0.0.7:5101'],
    ['::ffff:10.0.0.7', '10.0.0.7:5101'],
    ['fe80::1', '[fe80::1]:5101'],
    [undefined, 'unix socket'],
  ])('at %s is %s', (remoteAddress, name) => {
    expect(clientName({ remoteAddress, remotePort: 5101, destroyed: false })).toBe(name);
  });

  it('says of one that has gone that it has, rather than to make an address up', () => {
    expect(clientName({ remoteAddress: undefined, remotePort: undefined, destroyed: true })).toBe('gone');
  });
});
