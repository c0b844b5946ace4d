import { once } from 'node:events';
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fakeNvidiaSmi, type FakeNvidiaSmi } from '../support/fake-nvidia-smi.js';
import { runProgram, serveIn, temporaryDirectory, type Ended } from '../support/serving.js';
import { tempTree } from '../support/temp-tree.js';

/** Where a shell script finds `cat`, and nothing that has to do with models. */
const BARE_PATH = '/usr/bin:/bin';
const hasDriver = existsSync('/proc/driver/nvidia') || process.platform === 'win32';

async function doctor(
  args: readonly string[] = [],
  environment: NodeJS.ProcessEnv = { PATH: '' },
  directory = temporaryDirectory(),
): Promise<Ended> {
  return runProgram(['doctor', '--port', '0', ...args], directory, environment);
}

const withSmi = (answers: FakeNvidiaSmi): NodeJS.ProcessEnv => ({
  PATH: `${dirname(fakeNvidiaSmi(answers).file)}:${BARE_PATH}`,
});

/** A script as a llama-server. */
function llamaServer(script: string): string {
  const file = join(tempTree({ 'llama-server': `#!/bin/sh\n${script}\n` }), 'llama-server');
  chmodSync(file, 0o755);
  return file;
}

describe.skipIf(hasDriver)('doctor', () => {
  it('says of a machine with nothing installed what is missing, and that models can be served all the same', async () => {
    const { code, stdout, stderr } = await doctor();
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/ok +llama-server +none in PATH; models run with the engine in the box/);
    expect(stdout).toMatch(/ok +in the box +node-llama-cpp \d+\.\d+\.\d+, with binaries for cpu/);
    expect(stdout).toMatch(
      /none was found \(nvml cannot be had: .*; nvidia-smi cannot be had: nvidia-smi was not found/,
    );
    expect(stdout).toMatch(/ok +Host +System memory, .* GiB in use, as host says/);
    expect(stdout).toMatch(/warn +children +.*setpriv.*\n +fix: install util-linux/);
  });

  it('is right about that: serving starts there, and counts the host alone', async () => {
    const directory = temporaryDirectory();
    const served = await serveIn(directory, [], { PATH: '' });
    onTestFinished(() => served[Symbol.asyncDispose]());
    const { devices, supervisor } = await served.snapshot();
    expect([supervisor.engine.name, devices.map(({ name }) => name)]).toEqual(['embedded', ['Host']]);
    const { stdout } = await doctor(['--state-dir', served.stateDirectory], { PATH: '' }, directory);
    expect(stdout).toContain(`a supervisor serves this state directory already, at ${served.url}`);
  });

  it('shows each GPU with its probe, figures, and who else is on it', async () => {
    const { code, stdout } = await doctor(
      [],
      withSmi({
        gpus: 'GPU-a, 00000000:01:00.0, NVIDIA GeForce RTX 3090, 24576, 9000, 15200, [N/A], 37, 61, 210.53',
        apps: `GPU-a, ${2 ** 22 + 99}, 1500`,
      }),
    );
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /ok +CUDA0 +NVIDIA GeForce RTX 3090: 9\.2 of 24\.0 GiB in use, as nvidia-smi says; 37% busy, 61 °C, 211 W/,
    );
    expect(stdout).toMatch(/warn +probe +nvml cannot be had/);
  });

  it.each([
    [
      '',
      /warn +GPU +CUDA_VISIBLE_DEVICES="" hides every NVIDIA GPU of this machine \(RTX 3090, RTX 4090\); .*\n +fix: /,
    ],
    ['-1', /warn +GPU +CUDA_VISIBLE_DEVICES="-1" hides every NVIDIA GPU/],
    ['1', /ok +CUDA0 +RTX 4090: [^]* ok +GPU +CUDA_VISIBLE_DEVICES="1" hides 1 of 2 NVIDIA GPUs/],
    ['1,0', /ok +CUDA0 +RTX 4090: (?![^]*hides)/],
  ])('names the variable that hides GPUs: %j', async (visible, said) => {
    const rows = ['GPU-a, 00000000:01:00.0, RTX 3090', 'GPU-b, 00000000:02:00.0, RTX 4090'];
    const gpus = rows.map((row) => `${row}, 24576, 9000, 15200, [N/A], 37, 61, 210.53`).join('\n');
    const { code, stdout } = await doctor([], { ...withSmi({ gpus }), CUDA_VISIBLE_DEVICES: visible });
    expect(code).toBe(0);
    expect(stdout).toMatch(said);
    expect(stdout).not.toContain('none was found');
  });

  it('says nothing of such a variable where there is no GPU to hide', async () => {
    const { stdout } = await doctor([], { PATH: '', CUDA_VISIBLE_DEVICES: '' });
    expect(stdout).toContain('none was found');
    expect(stdout).not.toContain('CUDA_VISIBLE_DEVICES');
  });

  it('passes on the driver’s own words, with what to do', async () => {
    const script = `echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18`;
    const { code, stdout } = await doctor([], withSmi({ script }));
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /fail +serving +the engine in the box puts models on CUDA0, and it cannot be read.*\n +fix: mend/,
    );
    expect(stdout).toContain('Only models for the processor can be served as things are: see what says fail (1).');
    expect(stdout).toMatch(
      /warn +CUDA0 +nvidia-smi: Failed to initialize NVML: Driver\/library version mismatch; nothing is loaded there until it can be.*\n +fix: .*reboot/,
    );
  });

  it('goes on after words of the driver that are a whole sentence', async () => {
    const script = `echo 'NVIDIA-SMI has failed. Make sure that the latest NVIDIA driver is running.'; exit 9`;
    const { stdout } = await doctor([], withSmi({ script }));
    expect(stdout).toMatch(/nvidia-smi: NVIDIA-SMI has failed\..* driver is running; nothing is loaded there/u);
  });

  it('fails where the port is taken, and says by whom', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const { code, stdout } = await doctor(['--port', String(port)]);
    expect(code).toBe(1);
    expect(stdout).toMatch(
      new RegExp(`fail +port +127.0.0.1:${port} is in use by .+\\(pid ${process.pid}\\)\n +fix: .*--port`),
    );
  });

  it('says of a supervisor that does not answer that it is this one, whatever its port', async () => {
    const directory = temporaryDirectory();
    const served = await serveIn(directory, [], { PATH: '' });
    onTestFinished(() => served[Symbol.asyncDispose]());
    const { pid } = (await served.snapshot()).supervisor;
    process.kill(pid, 'SIGSTOP');
    onTestFinished(() => void process.kill(pid, 'SIGCONT'));
    const args = ['--state-dir', served.stateDirectory, '--port', new URL(served.url).port];
    const { code, stdout } = await doctor(args, { PATH: '' }, directory);
    expect(code).toBe(1);
    expect(stdout).toMatch(
      new RegExp(
        `fail +port +the supervisor of this state directory \\(pid ${pid}\\) does not answer; .*\n +fix: kill -CONT ${pid} `,
      ),
    );
    expect(stdout).not.toContain('is in use by');
  });

  it('fails where there is no place for its state', async () => {
    const file = join(temporaryDirectory(), 'file');
    writeFileSync(file, '');
    const { code, stdout } = await doctor(['--state-dir', join(file, 'state')]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/fail +state +.*cannot be written \(ENOTDIR\)\n +fix: .*--state-dir/);
    expect(stdout).toContain('Nothing can be served as things are');
  });

  it('fails where the llama-server that was given is none, or does not run', async () => {
    const none = await doctor(['--llama-server', '/nowhere/llama-server']);
    expect([none.code, none.stdout]).toEqual([
      1,
      expect.stringMatching(/fail +llama-server +.*\/nowhere\/llama-server/),
    ]);
    const broken = await doctor([
      '--llama-server',
      llamaServer('echo "error: libcudart.so.12: cannot open" >&2; exit 127'),
    ]);
    expect(broken.code).toBe(1);
    expect(broken.stdout).toMatch(/fail +llama-server +.*error: libcudart.so.12: cannot open/);
  });

  it('tells the build of a llama-server, and that it cannot measure, without letting it steer the terminal', async () => {
    const script = `[ "$1" = --help ] && echo '--model FNAME'; [ "$1" = --version ] && printf 'version: 6123 (abc\\033[2J)\\n' >&2; exit 0`;
    const { code, stdout } = await doctor(['--llama-server', llamaServer(script)], { PATH: BARE_PATH });
    expect(code).toBe(0);
    expect(stdout).toMatch(/ok +llama-server +version 6123 \(abc\)/);
    expect(stdout).toMatch(/warn +measuring +.*\n +fix: .*llama-fit-params/);
    expect(stdout).not.toContain('\u001b');
  });

  it('gives all of it as JSON with a schema', async () => {
    const { stdout } = await doctor(['--json']);
    const report = JSON.parse(stdout) as { devices: unknown[] };
    expect(report).toMatchObject({ schema: 1, ok: true });
    expect(report.devices).toMatchObject([{ name: 'Host', source: 'host' }]);
  });
});
