import { describe, expect, it } from 'vitest';
import { deviceSentence } from '../../components/linear/sentences.js';
import { GIB } from '../../src/scheduler/units.js';
import { createScreenWorld, type ScreenWorld } from '../support/screen-world.js';
import { SAMPLE_TIME, sampleDevice, sampleSnapshot, unreadDevice } from '../support/snapshots.js';

const PROBLEM = 'nvml: Driver Not Loaded (nvmlInit_v2, code 9)';
const unread = unreadDevice('CUDA0', PROBLEM, SAMPLE_TIME - 4_200);

const worldOf = (columns: number, device = unread): ScreenWorld =>
  createScreenWorld(sampleSnapshot({ devices: [device, sampleDevice('CUDA1'), sampleDevice('Host')] }), {
    columns,
    rows: 30,
  });

const rowOf = (world: ScreenWorld, name: string): string =>
  world
    .lines()
    .find((line) => line.includes(name))
    ?.trimEnd() ?? '';

describe('a device that could never be read', () => {
  it.each([60, 80, 100, 140, 200])(
    'has a row at %i columns: a word, since when, the driver’s words, no figure',
    (columns) => {
      const row = rowOf(worldOf(columns), 'CUDA0');
      expect(row).toMatch(/CUDA0 unread 4s +nvml: Driver Not Loaded/u);
      expect(row).not.toMatch(/[[\]/]|GiB/u);
    },
  );

  it('takes nothing from the bars of the others', () => {
    const read = createScreenWorld(sampleSnapshot({ devices: [sampleDevice('CUDA1'), sampleDevice('Host')] }), {
      columns: 100,
      rows: 30,
    });
    expect(rowOf(worldOf(100), 'CUDA1').trim()).toBe(rowOf(read, 'CUDA1').replace('>', ' ').trim());
  });

  it('opens to what is known of it: its driver’s words, what happens meanwhile, and who claims memory there', () => {
    const held = { ...unread, segments: [{ model: 'phi-4', part: 'held', bytes: 8 * GIB }] as const };
    const world = worldOf(140, held);
    world.press('1', 'return');
    const text = world.text().replaceAll(/\s+/gu, ' ');
    expect(text).toContain('CUDA0 has never been read: its size, and what is free there, are not known.');
    expect(text).toContain(`since 4s ago problem ${PROBLEM} Until it can be read nothing is loaded there`);
    expect(text).toMatch(/What models claim there 8\.0 GiB held phi-4/u);
    expect(text).not.toContain('of the free memory');
  });

  it('is a sentence for those who listen', () => {
    expect(deviceSentence(unread, worldOf(140).view())).toBe(`CUDA0: unread for 4s: ${PROBLEM}`);
  });

  it('does not let its driver steer the terminal', () => {
    expect(worldOf(140, { ...unread, problem: 'a\u001b[2Jb\nc' }).text()).not.toContain('\u001b');
  });
});
