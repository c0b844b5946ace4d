import { describe, expect, it } from 'vitest';
import { createTurnstile } from '../../../src/engines/embedded/generation/turnstile.js';

describe('the turnstile before each token', () => {
  it('holds everyone back until the last of those who need the context alone has done, even if it failed', async () => {
    const turnstile = createTurnstile();
    const order: string[] = [];
    const first = Promise.withResolvers<null>();
    const second = Promise.withResolvers<null>();
    const one = turnstile.exclusively(() => first.promise).then(() => order.push('one'));
    const two = turnstile.exclusively(() => second.promise).catch(() => order.push('two'));
    const passing = turnstile.pass().then(() => order.push('passed'));
    first.resolve(null);
    await one;
    second.reject(new Error('failed'));
    await Promise.all([two, passing]);
    expect(order[0]).toBe('one');
    expect(order).toHaveLength(3);
    await turnstile.pass();
  });

  it('stays shut while one of two is still at work', async () => {
    const turnstile = createTurnstile();
    const work = Promise.withResolvers<null>();
    const held = turnstile.exclusively(() => work.promise);
    await turnstile.exclusively(() => Promise.resolve());
    let passed = false;
    const passing = turnstile.pass().then(() => (passed = true));
    await new Promise(setImmediate);
    expect(passed).toBe(false);
    work.resolve(null);
    await Promise.all([held, passing]);
    expect(passed).toBe(true);
  });
});
