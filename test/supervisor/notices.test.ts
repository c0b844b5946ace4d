import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fakeNvidiaSmi } from '../support/fake-nvidia-smi.js';
import { simulated, writePreset } from '../support/preset.js';
import { runProgram, serve, serveIn, temporaryDirectory } from '../support/serving.js';
import { until } from '../support/until.js';

const MODEL = { 'sim-size': '1GiB' };

describe('notices', () => {
  it('are printed by serve as they come, with the time, and shown by ps', async () => {
    const args = simulated('CUDA0=24GiB', { a: MODEL });
    await using served = await serve(...args);
    renameSync(writePreset({ a: MODEL, b: { ...MODEL, priority: 'x' } }), args.at(-1) ?? '');
    await served.post('/supervisor/reload', {});
    const line = /^\d\d:\d\d:\d\d notice: .*"x" is no priority/mu;
    await until('it is printed', () => line.test(served.output()));
    const { stdout } = await runProgram(['ps', '--state-dir', served.stateDirectory], served.directory);
    expect(stdout).toMatch(/^notices:\n {2}.*"x" is no priority/mu);
  });

  it('of a driver that fails are in ps beside its devices, and go when it can be read again', async () => {
    const smi = fakeNvidiaSmi({
      gpus: 'GPU-aaaa, 00000000:01:00.0, X, 24576, 9000, 15200, [N/A]',
      script:
        '[ -e "$here/broken" ] && { echo "the driver is upset" >&2; exit 9; }\ncase "$1" in --query-gpu=*) cat "$here/gpus" ;; esac',
    });
    const directory = temporaryDirectory();
    const PATH = `${dirname(smi.file)}:${process.env['PATH'] ?? ''}`;
    await using served = await serveIn(directory, ['--engine', 'embedded'], { PATH });
    writeFileSync(join(dirname(smi.file), 'broken'), '');
    const { supervisor } = await served.until('it fails', (snapshot) =>
      snapshot.supervisor.notices.some((notice) => notice.includes('upset')) ? snapshot : null,
    );
    expect(supervisor.notices.filter((notice) => notice.includes('upset'))).toHaveLength(1);
    const ps = await runProgram(['ps', '--state-dir', served.stateDirectory], served.directory);
    expect(ps.stdout).toMatch(/^\S+ cannot be read: .*upset/mu);
    rmSync(join(dirname(smi.file), 'broken'));
    const over = await served.until('it is over', (snapshot) =>
      snapshot.supervisor.notices.at(-1)?.includes('read again') === true ? snapshot.supervisor : null,
    );
    expect(over.notices.filter((notice) => notice.includes('upset'))).toEqual([
      expect.stringMatching(/^nvidia-smi: CUDA0 is read again after \d+m?s; it had said: .*the driver is upset/u),
    ]);
    expect(over.noticeMarks?.map((mark) => mark.over)).toEqual(
      over.notices.map((notice) => / read again /u.test(notice)),
    );
  });
});

describe('pins that cannot be saved', () => {
  it('are said to whoever set them', async () => {
    await using served = await serve(...simulated('CUDA0=24GiB', { a: MODEL }));
    mkdirSync(join(served.stateDirectory, 'pins.json'));
    for (const action of ['pin', 'unpin']) {
      const { code, stderr } = await runProgram([action, 'a', '--state-dir', served.stateDirectory], served.directory);
      expect(stderr).toMatch(
        /^llm-tui: The pins could not be saved \(.*\); they hold until this supervisor ends\.\n$/u,
      );
      expect(code).toBe(1);
    }
    rmSync(join(served.stateDirectory, 'pins.json'), { recursive: true });
    const saved = await runProgram(['pin', 'a', '--state-dir', served.stateDirectory], served.directory);
    expect(saved).toMatchObject({ code: 0, stderr: '' });
  });
});
