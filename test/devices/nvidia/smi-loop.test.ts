import { rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SmiLoop } from '../../../src/devices/nvidia/smi-loop.js';
import { SmiPace } from '../../../src/devices/nvidia/smi-pace.js';
import { createNvidiaSmiProbe } from '../../../src/devices/nvidia/smi-probe.js';
import { MIB } from '../../../src/scheduler/units.js';
import { fakeNvidiaSmi } from '../../support/fake-nvidia-smi.js';
import { isRunning, until } from '../../support/until.js';

const row = (uuid: string, usedMib: number): string =>
  `GPU-${uuid}, 00000000:0${uuid}:00.0, NVIDIA X, 8192, ${usedMib}, ${8192 - usedMib}, [N/A], 3, 40, 20.00`;
const rowsWith = (usedMib: number): string => `${row('1', usedMib)}\n${row('2', 5)}\n`;
const TREES = [{ model: 'a', generation: 1, pids: [4242] }];

/**
 * A program that goes on printing its rows, with the time, as the real one does; where a file `hang` lies beside it it
 * stops in the middle of a look, and with one named `die` it ends.
 */
const SCRIPT = `
  case "$*" in
    *--loop-ms=*)
      while :; do
        while IFS= read -r row; do
          if [ -e "$here/hang" ]; then printf '2, 2026/'; exec sleep 600; fi
          if [ -e "$here/words" ]; then cat "$here/words"; fi
          echo "2, $(date +'%Y/%m/%d %H:%M:%S.%3N'), $row"
        done < "$here/gpus"
        [ -e "$here/die" ] && exit 9
        sleep 0.05
      done ;;
    *--query-gpu=*) cat "$here/gpus" ;;
    *) cat "$here/apps" ;;
  esac`;

function program() {
  const fake = fakeNvidiaSmi({ script: SCRIPT, gpus: rowsWith(1000).trimEnd(), apps: 'GPU-1, 4242, 900' });
  const file = (name: string): string => join(dirname(fake.file), name);
  const wholeLooks = (): number => fake.calls().filter((call) => call.startsWith('--query-compute-apps')).length;
  return {
    ...fake,
    at: file,
    wholeLooks,
    loops: () => fake.calls().filter((call) => call.includes('--loop-ms')).length,
  };
}

function probeOf(file: string, pauseMillis = 1) {
  const one = createNvidiaSmiProbe({ file, pidsAreOurs: true, pciDirectory: '/nowhere', loop: { pauseMillis } });
  onTestFinished(() => one.close());
  return one;
}

describe.runIf(process.platform === 'linux')('an nvidia-smi that goes on looking', () => {
  it('spares whole looks while no memory comes or goes, and shows at once what does', async () => {
    const { file, at, wholeLooks } = program();
    const one = probeOf(file);
    await until('a sample comes without a whole look', async () => {
      const before = wholeLooks();
      await one.sample(TREES);
      return wholeLooks() === before;
    });
    const before = wholeLooks();
    const { devices, instances } = await one.sample(TREES);
    expect(devices.map(({ usedBytes, source }) => [usedBytes / MIB, source])).toEqual([
      [1000, 'nvidia-smi'],
      [5, 'nvidia-smi'],
    ]);
    expect(instances[0]?.resident).toEqual({ CUDA0: 900 * MIB, CUDA1: 0 });
    expect(wholeLooks()).toBe(before);

    writeFileSync(at('apps'), 'GPU-1, 4242, 2900\n');
    writeFileSync(at('gpus'), rowsWith(3000));
    const after = await one.sample(TREES);
    expect([after.devices[0]?.usedBytes, after.instances[0]?.resident['CUDA0']]).toEqual([3000 * MIB, 2900 * MIB]);
  });

  it('asks for processes again when ours are others', async () => {
    const { file, wholeLooks } = program();
    const one = probeOf(file);
    await until('a sample comes without a whole look', async () => {
      const before = wholeLooks();
      await one.sample(TREES);
      return wholeLooks() === before;
    });
    const before = wholeLooks();
    await one.sample([{ model: 'b', generation: 2, pids: [4243] }]);
    expect(wholeLooks()).toBe(before + 1);
  });

  it.each([
    ['ends', 'die', '', 'ended'],
    ['hangs in the middle of a line', 'hang', '', 'hung'],
    [
      'prints the words of its driver',
      'words',
      'Unable to determine the device handle for GPU 0000:01:00.0: GPU is lost\n',
      'ended',
    ],
  ])('is done without while it %s, and is back after that', async (_case, name, content, said) => {
    const { file, at, loops } = program();
    const one = probeOf(file);
    await until('it looks', async () => (await one.sample(TREES), loops() > 0));
    writeFileSync(at(name), content);
    const seen = loops();
    const readings = new Set<number>();
    const remarks = new Set<string>();
    await until('another one was started, and it was said', async () => {
      const { devices } = await one.sample(TREES);
      readings.add(devices.length);
      remarks.add(devices[0]?.remark ?? '');
      return loops() > seen && [...remarks].some((remark) => remark.includes(said));
    });
    expect([...readings], 'every sample was whole').toEqual([2]);
    rmSync(at(name));
    await until('all is well', async () => (await one.sample(TREES)).devices[0]?.remark === undefined);
  });

  it('gives nothing that was read before it was asked for', async () => {
    const { file } = program();
    const loop = new SmiLoop({ file });
    onTestFinished(() => loop.close());
    const fields = 'uuid,pci.bus_id,name,memory.total,memory.used,memory.free,mig.mode.current,a,b,c';
    await until('it looks', () => loop.rowsSince(0, fields, 50));
    expect(await loop.rowsSince(Date.now() + 86_400_000, fields, 50)).toBeNull();
  });

  it('does not outlive who has started it', async () => {
    const { file } = program();
    const one = new SmiLoop({ file });
    await until('it runs', async () => (await one.rowsSince(0, 'uuid', 50), one.pid !== null));
    const { pid } = one;
    one.close();
    await until('it has gone', () => pid !== null && !isRunning(pid));
    expect(one.pid).toBeNull();
  });
});

describe('how often it looks', () => {
  function paceOf(...intervals: readonly number[]): readonly (number | null)[] {
    let now = 0;
    const pace = new SmiPace(() => now);
    return [0, ...intervals].map((interval) => {
      now += interval;
      return pace.asked();
    });
  }

  it('follows how often it is asked, once that is steady', () => {
    expect(paceOf(1000, 1000, 1000, 1000).at(-1)).toBe(500);
    expect(paceOf(150, 150, 150, 150).at(-1)).toBe(150);
    expect(paceOf(1000, 1000, 1000, 150, 1000, 150, 1000), 'a look between others').toEqual([
      ...[null, null, null, 500, 500, 500, 500, 500],
    ]);
  });

  it('is not at all where nobody looks: a program that has them open would keep GPUs awake', () => {
    expect(paceOf(5000, 5000, 5000, 5000)).toEqual([null, null, null, null, null]);
    expect(paceOf(1000, 1000, 1000, 5000, 5000, 5000).at(-1)).toBeNull();
  });
});
