import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { readCgroupUsed } from '../../src/devices/cgroup-memory.js';
import { createHostProbe, readHostDevice } from '../../src/devices/host-probe.js';
import { combineProbes } from '../../src/devices/combined-probe.js';
import { GIB, MIB } from '../../src/scheduler/units.js';
import { script, watch, type Watched } from '../support/node-child.js';
import { until } from '../support/until.js';

const children: Watched[] = [];

afterEach(async () => {
  for (const child of children.splice(0)) {
    child.handle.kill();
    await child.exited;
  }
});

describe('system memory', () => {
  const machine = { totalBytes: 64 * GIB, availableBytes: 50 * GIB, limitBytes: null, cgroupUsedBytes: 0 };

  it('counts our mapped weights as used although the kernel calls them available', () => {
    const ours = { privateBytes: 1 * GIB, fileBytes: 8 * GIB };
    const { usedBytes } = readHostDevice(machine, ours.fileBytes, true);
    const external = usedBytes - ours.privateBytes - ours.fileBytes;
    expect(external).toBe(13 * GIB);
  });

  it('is never more used than there is', () => {
    expect(readHostDevice({ ...machine, availableBytes: 0 }, 8 * GIB, true).usedBytes).toBe(64 * GIB);
  });

  it('ends at the limit of the control group, whose own use counts then', () => {
    const limited = { ...machine, limitBytes: 16 * GIB, cgroupUsedBytes: 3 * GIB };
    expect(readHostDevice(limited, 0, true)).toMatchObject({ totalBytes: 16 * GIB, usedBytes: 3 * GIB });
  });

  it('is short in a control group too when the machine has none left', () => {
    const limited = { ...machine, availableBytes: 2 * GIB, limitBytes: 16 * GIB, cgroupUsedBytes: 3 * GIB };
    expect(readHostDevice(limited, 0, true).usedBytes).toBe(14 * GIB);
  });

  it('is read from this machine', async () => {
    const { devices } = await createHostProbe().sample([]);
    const [host] = devices;
    expect(devices).toHaveLength(1);
    expect(host).toMatchObject({ name: 'Host', kind: 'host', attributed: process.platform === 'linux' });
    expect(host?.totalBytes).toBeGreaterThan(256 * MIB);
    expect(host?.usedBytes).toBeGreaterThan(16 * MIB);
    expect(host?.usedBytes).toBeLessThan(host?.totalBytes ?? 0);
  });
});

describe.runIf(process.platform === 'linux')('what an instance has resident', () => {
  it('is that of its child and of everything below it', async () => {
    const child = watch(
      script(`
        import { spawn } from 'node:child_process';
        const ballast = Buffer.alloc(100 * 2 ** 20, 1);
        const code = 'const ballast = Buffer.alloc(200 * 2 ** 20, 1); console.log("up"); setInterval(() => ballast[0], 1000);';
        spawn(process.execPath, ['-e', code], { stdio: 'inherit' });
        setInterval(() => ballast[0], 1000);`),
    );
    children.push(child);
    await until('both are up', () => child.log.includes('up'));
    const trees = [{ model: 'a', generation: 3, pids: [child.handle.pid ?? 0] }];
    const { sample, failures } = await combineProbes([createHostProbe()]).sample(trees);
    expect(failures).toEqual([]);
    expect(sample.instances).toHaveLength(1);
    expect(sample.instances[0]).toMatchObject({ model: 'a', generation: 3 });
    expect(sample.instances[0]?.resident['Host']).toBeGreaterThan(300 * MIB);
    expect(sample.instances[0]?.resident['Host']).toBeLessThan(900 * MIB);
  });

  it('is nothing once it has gone', async () => {
    const child = watch(script(''));
    await child.exited;
    const { instances } = await createHostProbe().sample([
      { model: 'a', generation: 1, pids: [child.handle.pid ?? 0] },
    ]);
    expect(instances).toEqual([{ model: 'a', generation: 1, resident: { Host: 0 } }]);
  });
});

describe('the use of a control group', () => {
  const files = (layout: Readonly<Record<string, string>>): string => {
    const root = mkdtempSync(join(tmpdir(), 'cgroup-'));
    for (const [path, text] of Object.entries(layout)) {
      mkdirSync(join(root, path, '..'), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    return root;
  };

  it('leaves the page cache out (v2)', async () => {
    const root = files({
      self: '0::/user.slice/app\n',
      'user.slice/app/memory.current': '5000\n',
      'user.slice/app/memory.stat': 'anon 3000\nactive_file 500\ninactive_file 1500\n',
    });
    expect(await readCgroupUsed(root, join(root, 'self'))).toBe(3000);
  });

  it('leaves the page cache out (v1), and finds a group that is mounted at the root, as in a container', async () => {
    const root = files({
      self: '4:memory:/docker/abc\n0::/\n',
      'memory/memory.usage_in_bytes': '5000\n',
      'memory/memory.stat': 'active_file 1\ntotal_active_file 500\ntotal_inactive_file 500\n',
    });
    expect(await readCgroupUsed(root, join(root, 'self'))).toBe(4000);
  });

  it('is unknown where it cannot be read', async () => {
    const root = files({ self: '0::/\n' });
    expect(await readCgroupUsed(root, join(root, 'self'))).toBeNull();
    expect(await readCgroupUsed(root, join(root, 'nothing'))).toBeNull();
  });
});
