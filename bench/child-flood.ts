/**
 * How well serve answers while a child prints all kinds of garbage as fast as its pipes take it: 3 MiB lines, control
 * sequences, half messages, messages with wrong types, thousands of lines at once. Prints the time that /health takes and
 * the memory of serve. `node --import ./scripts/typescript.js bench/child-flood.ts [seconds]`; needs `npm run build`. Linux.
 */
import { readFileSync } from 'node:fs';
import { oddModels, servingOdd } from '../test/support/odd-models.js';
import { serve } from '../test/support/serving.js';

const seconds = Number(process.argv[2] ?? 20);
const served = await serve(...servingOdd(oddModels('pours', 'even')));
const pid = served.process.pid ?? 0;

const status = (field: string): number =>
  Number(new RegExp(`${field}:\\s+(\\d+)`, 'u').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
const cpuSeconds = (): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /su, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
};

async function measure(what: string): Promise<void> {
  const times: number[] = [];
  const [cpu, began] = [cpuSeconds(), performance.now()];
  for (const end = began + seconds * 1000; performance.now() < end;) {
    const asked = performance.now();
    await (await fetch(`${served.url}/health`)).text();
    times.push(performance.now() - asked);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  times.sort((a, b) => a - b);
  const at = (share: number): string => (times[Math.floor(times.length * share)] ?? NaN).toFixed(1).padStart(7);
  const core = (100 * (cpuSeconds() - cpu)) / ((performance.now() - began) / 1000);
  console.log(
    `${what.padEnd(26)} /health p50 ${at(0.5)} ms  p99 ${at(0.99)} ms  worst ${at(0.9999)} ms   ` +
      `RSS ${Math.round(status('VmRSS') / 1024)} MiB (highest ${Math.round(status('VmHWM') / 1024)})   ${core.toFixed(0)} % of a core`,
  );
}

try {
  await served.post('/v1/completions', { model: 'even', prompt: 'x' });
  await measure('one quiet child');
  await served.post('/v1/completions', { model: 'pours', prompt: 'x' });
  await measure('and one that pours garbage');
} finally {
  await served[Symbol.asyncDispose]();
}
