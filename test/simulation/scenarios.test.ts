import { globSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readScenario, ScenarioError, type Scenario } from '../../src/simulation/scenario.js';
import { tallyWorlds, type Tally } from '../../src/simulation/tally.js';
import type { PolicyName } from '../../src/scheduler/state.js';
import { GIB, MIB } from '../../src/scheduler/units.js';
import { runWorld } from '../support/world-run.js';

const root = resolve(import.meta.dirname, '../..');
const files = globSync(join(root, 'scenarios/*.yaml')).sort();
const SEEDS = [1, 2, 3];

function scenarioAt(file: string): Scenario {
  return readScenario(parse(readFileSync(file, 'utf8')));
}

function tally(scenario: Scenario, policy: PolicyName): Tally {
  return tallyWorlds(SEEDS.map((seed) => scenario.worldOf(seed, policy)));
}

describe('the scenarios that come along', () => {
  it.each(files.map((file) => basename(file, '.yaml')))('%s keeps every promise', (name) => {
    const scenario = scenarioAt(join(root, 'scenarios', `${name}.yaml`));
    expect(scenario.about).not.toBe('');
    const { broken, outcomes } = runWorld(scenario.worldOf(1, scenario.policy));
    expect(broken?.message).toBeUndefined();
    expect(outcomes['served']).toBeGreaterThan(0);
  });

  it.each(files.map((file) => basename(file, '.yaml')))(
    '%s: ours is nowhere worse than looking at no device',
    (name) => {
      const scenario = scenarioAt(join(root, 'scenarios', `${name}.yaml`));
      const [ours, theirs] = [tally(scenario, 'lru'), tally(scenario, 'lru-any-device')];
      expect(ours.outOfMemory).toBeLessThanOrEqual(theirs.outOfMemory);
      expect(ours.evictions).toBeLessThanOrEqual(theirs.evictions);
      expect(ours.bytesLoaded).toBeLessThanOrEqual(theirs.bytesLoaded);
      // When a probe happens to look is chance: it may cost a moment.
      expect(ours.waitMillis.p95).toBeLessThanOrEqual(theirs.waitMillis.p95 * 1.01);
      expect(ours.served).toBeGreaterThanOrEqual(theirs.served);
    },
  );

  it.each(['alternating', 'big-among-small', 'three-gpus'])('%s: ours evicts less, since devices differ', (name) => {
    const scenario = scenarioAt(join(root, 'scenarios', `${name}.yaml`));
    const [ours, theirs] = [tally(scenario, 'lru'), tally(scenario, 'lru-any-device')];
    expect(ours.evictions).toBeLessThan(theirs.evictions * 0.8);
    expect(ours.bytesLoaded).toBeLessThan(theirs.bytesLoaded);
  });

  it('refuses nobody where everything fits by itself, however late memory comes back', () => {
    for (const name of ['alternating', 'big-among-small', 'release-lag', 'three-gpus']) {
      const { refused, outOfMemory } = tally(scenarioAt(join(root, 'scenarios', `${name}.yaml`)), 'lru');
      expect({ name, refused, outOfMemory }).toEqual({ name, refused: 0, outOfMemory: 0 });
    }
  });

  it('a pinned model in the way is named in the refusal, until it is unpinned', () => {
    const scenario = scenarioAt(join(root, 'scenarios/pinned-in-the-way.yaml'));
    const sentences: string[] = [];
    const { refused } = tallyWorlds([scenario.worldOf(1, 'lru')], (decision) => {
      if (decision.kind === 'refuse') sentences.push(decision.sentence);
    });
    expect(refused).toBe(4);
    expect(sentences[0]).toMatch(/pinned assistant-8b is in the way$/u);
  });

  it('the same seed gives the same figures', () => {
    const scenario = scenarioAt(join(root, 'scenarios/three-gpus.yaml'));
    expect(tally(scenario, 'cost')).toEqual(tally(scenario, 'cost'));
  });
});

describe('a scenario file', () => {
  const smallest = {
    lasts: '1m',
    devices: { CUDA0: { total: '8GiB' } },
    models: { a: { needs: { CUDA0: '512 MiB' } } },
  };

  it('says amounts and times with their units', () => {
    const world = readScenario({
      ...smallest,
      requests: [{ models: 'a', at: ['1.5s', '200ms', 0], tokens: 80 }],
    }).worldOf(1, 'lru');
    expect(world.devices[0]?.totalBytes).toBe(8 * GIB);
    expect(world.models[0]?.needs).toEqual([{ CUDA0: 512 * MIB }]);
    expect(world.arrivals.map(({ at }) => at)).toEqual([1500, 200, 0]);
    expect(world.arrivals[0]?.holdMillis).toBe(2000);
  });

  it.each([
    {
      mistake: 'an amount without a unit',
      file: { devices: { CUDA0: { total: '8' } } },
      words: /^devices\.CUDA0\.total: '8' is no amount of memory; write it like 24GiB/u,
    },
    { mistake: 'a time that is none', file: { lasts: 'long' }, words: /^lasts: 'long' is no length of time/u },
    {
      mistake: 'a model that is not there',
      file: { requests: [{ models: 'b', at: ['1s'] }] },
      words: /^requests\.0: there is no model 'b'; there are a$/u,
    },
    {
      mistake: 'a device that is not there',
      file: { models: { a: { needs: { CUDA1: '1GiB' } } } },
      words: /^models\.a: there is no device 'CUDA1'/u,
    },
    {
      mistake: 'requests that never come',
      file: { requests: [{ models: 'a' }] },
      words: /^requests\.0: say when they come/u,
    },
    {
      mistake: 'requests without end',
      file: { requests: [{ models: 'a', every: 0 }] },
      words: /every 0 would never end/u,
    },
    { mistake: 'a word that means nothing', file: { colour: 'red' }, words: /colour/u },
    { mistake: 'a policy that is none', file: { settings: { policy: 'best' } }, words: /^settings\.policy: .*lru/u },
  ])('gets one clear sentence for $mistake', ({ file, words }) => {
    const read = (): unknown => readScenario({ ...smallest, ...file });
    expect(read).toThrow(ScenarioError);
    expect(read).toThrow(words);
  });
});
