/**
 * What looking at the devices costs: `npm run bench:probes`. Needs a GPU that NVML and nvidia-smi know, real or emulated:
 * `LLM_TUI_RIG` may name an emulator's prefix (with `bin/emu-env`); without one the machine's own driver is asked.
 * Percentages are of one core, with children's time counted in.
 */
import { readFileSync, rmSync } from 'node:fs';
import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { createHostProbe } from '../src/devices/host-probe.js';
import { createNvmlProbe } from '../src/devices/nvidia/nvml-probe.js';
import { createNvidiaSmiProbe } from '../src/devices/nvidia/smi-probe.js';
import type { DeviceProbe, ProcessTree } from '../src/devices/probe.js';
import { readProcessTable } from '../src/devices/process-table.js';
import { ProcessTrees } from '../src/devices/process-trees.js';

const SECONDS = Number(process.argv[2] ?? 20);
const TICKS_PER_SECOND = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

/** CPU seconds of this process, of the children it has waited for, and of those named that still run. */
function cpuSeconds(pids: readonly number[]): number {
  const times = (pid: number | 'self', first: number, last: number): number => {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return fields.slice(first, last).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_PER_SECOND;
  };
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6 + times('self', 13, 15) + pids.reduce((sum, pid) => sum + times(pid, 11, 13), 0);
}

function childrenOfThis(): readonly number[] {
  const text = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8');
  return text.split(' ').filter(Boolean).map(Number);
}

async function measure(what: string, hertz: number, look: () => Promise<unknown>): Promise<void> {
  // What is started only for those who ask again and again is started before the clock is.
  for (let warmUp = 0; warmUp < 6; warmUp += 1) {
    await look();
    await new Promise((resolve) => setTimeout(resolve, 1000 / hertz));
  }
  const children = childrenOfThis();
  const [cpuBefore, began] = [cpuSeconds(children), performance.now()];
  let looks = 0;
  let waited = 0;
  for (let next = began; performance.now() - began < SECONDS * 1000; next += 1000 / hertz) {
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, next - performance.now())));
    const at = performance.now();
    await look();
    waited += performance.now() - at;
    looks += 1;
  }
  const share = (cpuSeconds(children) - cpuBefore) / ((performance.now() - began) / 1000);
  const row = [`${(share * 100).toFixed(2)} %`.padStart(8), `${(waited / looks).toFixed(2)} ms`.padStart(9)];
  console.log(`${what.padEnd(46)} ${hertz} Hz ${row.join(' ')} a look`);
}

const trees: readonly ProcessTree[] = [{ model: 'this', generation: 1, pids: [process.pid] }];

async function probeAt(probe: DeviceProbe, hertz: number, how = ''): Promise<void> {
  await measure(`${probe.name}${how}`, hertz, () => probe.sample(trees));
  probe.close();
}

async function main(): Promise<void> {
  const processes = (await readProcessTable())?.length ?? 0;
  console.log(`CPU of one core over ${SECONDS} s each; ${processes} processes on this machine`);
  await measure('nothing', 1, () => Promise.resolve());
  await probeAt(createNvmlProbe(), 1);
  await probeAt(createNvmlProbe(), 7);
  for (const hertz of [1, 7]) {
    await probeAt(createNvidiaSmiProbe({ loop: null }), hertz, ', started for each look');
    await probeAt(createNvidiaSmiProbe(), hertz, ', one that goes on looking');
  }
  await probeAt(createHostProbe(), 1);
  await measure('the table of all processes', 0.5, () => readProcessTable());
  const known = new ProcessTrees();
  await measure('process trees, as they are kept', 1, () => known.complete(trees));
}

const rig = process.env['LLM_TUI_RIG'];
if (rig !== undefined && process.env['GGML_BACKEND_PATH'] === undefined) {
  const ledger = `/dev/shm/llm-tui-bench-${process.pid}.bin`;
  const { status } = spawnSync(
    join(rig, 'bin', 'emu-env'),
    [process.execPath, ...process.execArgv, ...process.argv.slice(1)],
    {
      stdio: 'inherit',
      env: { EMU_GPUS: '600,600', EMU_LEDGER: ledger, ...process.env },
    },
  );
  rmSync(ledger, { force: true });
  process.exitCode = status ?? 1;
} else await main();
