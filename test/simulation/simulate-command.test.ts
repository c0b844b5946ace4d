import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { simulateCommand, type SimulateOptions } from '../../src/cli/simulate.js';
import { UsageError } from '../../src/cli/usage-error.js';
import { temporaryDirectory } from '../support/serving.js';

const alternating = resolve(import.meta.dirname, '../../scenarios/alternating.yaml');

/** What the command prints. */
async function printed(path: string, options: SimulateOptions): Promise<string> {
  let text = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    text += String(chunk);
    return true;
  });
  try {
    await simulateCommand(path, options);
  } finally {
    vi.restoreAllMocks();
  }
  return text;
}

afterEach(() => vi.restoreAllMocks());

describe('llm-tui simulate', () => {
  it('prints what came of the policies side by side', async () => {
    const text = await printed(alternating, { compare: true });
    expect(text).toMatch(/^alternating \(simulated, seed 1\): Two models/u);
    expect(text).toMatch(/^ +lru +lru-any-device +cost$/mu);
    expect(text).toMatch(/^out of memory +0 +0 +0$/mu);
  });

  it('prints every decision where it is asked to', async () => {
    const text = await printed(alternating, { decisions: true });
    expect(text).toMatch(/^ +0ms admit +coder-32b: needs about 19.5 GiB on CUDA0/mu);
    expect(text).toMatch(/evict +coder-32b for writer-27b: least recently used on CUDA0/u);
  });

  it('prints JSON that says all of it', async () => {
    const result = JSON.parse(await printed(alternating, { json: true, runs: '2', policy: 'lru,cost' })) as {
      policies: { policy: string; seeds: number[]; served: number }[];
    };
    expect(result.policies.map(({ policy, seeds }) => [policy, ...seeds])).toEqual([
      ['lru', 1, 2],
      ['cost', 1, 2],
    ]);
    expect(result.policies[0]?.served).toBe(46);
  });

  it.each([
    { mistake: 'a file that is not there', path: '/no/such.yaml', options: {}, words: /there is no such file$/u },
    { mistake: 'a directory', path: '/', options: {}, words: /it cannot be read \(EISDIR\)$/u },
    { mistake: 'a policy that is none', path: alternating, options: { policy: 'best' }, words: /^--policy: 'best'/u },
    { mistake: 'a seed that is none', path: alternating, options: { seed: 'x' }, words: /^--seed: 'x' is no whole/u },
    { mistake: 'no runs', path: alternating, options: { runs: '0' }, words: /^--runs: '0'/u },
  ])('has one clear sentence for $mistake', async ({ path, options, words }) => {
    await expect(simulateCommand(path, options)).rejects.toThrow(UsageError);
    await expect(simulateCommand(path, options)).rejects.toThrow(words);
  });

  it('has one clear sentence, with the line, for a file that is no YAML', async () => {
    const path = join(temporaryDirectory(), 'broken.yaml');
    writeFileSync(path, 'lasts: 1m\ndevices: {');
    await expect(simulateCommand(path, {})).rejects.toThrow(/broken\.yaml line 2: [^\n]+$/u);
  });
});
