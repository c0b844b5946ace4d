import { describe, expect, it } from 'vitest';
import type { ChildMessage } from '../../src/engines/messages.js';
import { MessagePace } from '../../src/supervisor/message-pace.js';
import { until } from '../support/until.js';

const loading = (progress: number): ChildMessage => ({ type: 'loading', progress });
const ready: ChildMessage = { type: 'ready', contextTokens: null, effective: null };
const sleeping: ChildMessage = { type: 'sleeping' };

describe('the pace of a child that talks without end', () => {
  it('keeps the first and the last progress of many', async () => {
    const heard: ChildMessage[] = [];
    const pace = new MessagePace((message) => heard.push(message));
    for (let i = 0; i <= 1000; i += 1) pace.take(loading(i / 1000));
    expect(heard).toEqual([loading(0)]);
    await until('the last has come', () => heard.length > 1);
    expect(heard).toEqual([loading(0), loading(1)]);
    pace.close();
  });

  it('delays no readiness, and says nothing of a load after it', () => {
    const heard: ChildMessage[] = [];
    const pace = new MessagePace((message) => heard.push(message));
    for (let i = 0; i < 10; i += 1) pace.take(loading(i / 10));
    pace.take(ready);
    expect(heard).toEqual([loading(0), ready]);
    pace.close();
  });

  it('comes to the last state of many', async () => {
    const heard: ChildMessage[] = [];
    const pace = new MessagePace((message) => heard.push(message));
    for (let i = 0; i < 1000; i += 1) pace.take(i % 2 === 0 ? ready : sleeping);
    expect(heard.length).toBeLessThanOrEqual(10);
    pace.take(ready);
    await until('the last has come', () => heard.at(-1) === ready && heard.length > 10);
    expect(heard.length).toBeLessThan(20);
    pace.close();
  });

  it('is silent once the child has ended', async () => {
    const heard: ChildMessage[] = [];
    const pace = new MessagePace((message) => heard.push(message));
    pace.take(loading(0));
    pace.take(loading(1));
    pace.close();
    pace.take(ready);
    const others: ChildMessage[] = [];
    const other = new MessagePace((message) => others.push(message));
    other.take(loading(0));
    other.take(loading(1));
    await until('another has said its last', () => others.length === 2);
    other.close();
    expect(heard).toEqual([loading(0)]);
  });
});
