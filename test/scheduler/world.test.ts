import { describe, expect, it } from 'vitest';
import { sumOf } from '../../src/scheduler/amounts.js';
import { POLICIES } from '../../src/scheduler/policies.js';
import type { PolicyName } from '../../src/scheduler/state.js';
import type { DeviceBytes } from '../../src/scheduler/units.js';
import type { SimModel, WorldConfig } from '../../src/simulation/config.js';
import { World } from '../../src/simulation/world.js';
import { drawWorld, honest } from '../support/world-draw.js';
import { runWorld } from '../support/world-run.js';
import { describeTrace, shrinkTrace } from '../support/world-shrink.js';

/** A small share of what `npm run test:world` plays. */
const RUNS = Number(process.env['WORLD_RUNS'] ?? 100);

/** Worlds without lies are shorter, and what goes wrong in them is rarer. */
const HONEST_RUNS = RUNS * 5;

/** Whether a device would have room for it if nothing else of ours were there. */
function fitsAlone(world: World, need: DeviceBytes, marginBytes: number): boolean {
  return Object.entries(need).every(([name, bytes]) => {
    const device = world.pools.get(name)?.device;
    return device === undefined || bytes <= device.totalBytes - device.foreignBytes - marginBytes;
  });
}

function hasReloads({ happenings }: WorldConfig): boolean {
  return happenings.some(({ type }) => type === 'reload');
}

/** The model with what it kept in an earlier rest: what it keeps in this one too, or more, or less. */
function remembering({ spec, needs, rest, ...model }: SimModel, seed: number): SimModel {
  const share = seed % 2 === 0 ? (rest?.keepsShare ?? 0) : (seed % 5) / 4;
  const rested = Object.fromEntries(
    needs.flatMap((need) => Object.entries(need).map(([name, bytes]) => [name, Math.floor(bytes * share)] as const)),
  );
  return {
    ...model,
    needs,
    rest,
    spec: { ...spec, known: { measured: null, observed: null, rested, loadMillis: null } },
  };
}

describe('the scheduler in random worlds', () => {
  it.each(Object.keys(POLICIES) as PolicyName[])('keeps every promise, whatever happens (%s)', (policy) => {
    for (let seed = 1; seed <= RUNS; seed += 1) {
      const config = drawWorld(seed, policy);
      const { broken, events } = runWorld(config);
      if (broken === null) continue;
      const trace = shrinkTrace(config.settings, events, broken, 5000) ?? events;
      expect.fail(`seed ${seed}: ${broken.message}\n${describeTrace(config.settings, trace)}`);
    }
  });

  it('keeps them in whichever order things arrive that happen in one instant', () => {
    for (let seed = 1; seed <= RUNS; seed += 1) {
      const world = drawWorld(seed);
      const config = { ...world, gridMillis: 500, permutes: true };
      for (let order = 0; order < 2; order += 1) {
        const { broken } = runWorld({ ...config, seed: seed * 1000 + order });
        expect(broken?.message, `seed ${seed}, order ${order}`).toBeUndefined();
      }
    }
  });

  it('runs nothing out of memory, and calls nothing too large that is not, where everybody tells the truth', () => {
    for (let seed = 1; seed <= HONEST_RUNS; seed += 1) {
      const config = honest(drawWorld(seed));
      const world: World = new World(config, ({ result }) => {
        const outOfMemory = result.decisions.find(({ kind }) => kind === 'out-of-memory');
        expect(outOfMemory?.sentence, `seed ${seed}`).toBeUndefined();
        for (const effect of result.effects) {
          if (effect.type !== 'reject' || effect.code !== 'model_too_large') continue;
          const { needs } = config.models.find(({ spec }) => spec.id === effect.model) ?? { needs: [] };
          const wouldFit = needs.some((need) => fitsAlone(world, need, config.settings.marginBytes));
          expect(wouldFit && !hasReloads(config), `seed ${seed}: ${effect.message}`).toBe(false);
        }
      });
      world.run();
    }
  });

  it('runs nothing out of memory either where probes cannot tell processes apart', () => {
    for (let seed = 1; seed <= HONEST_RUNS; seed += 1) {
      const told = honest(drawWorld(seed));
      const devices = told.devices.map((device) => ({ ...device, probe: 'total' as const }));
      const world = new World({ ...told, devices }, ({ result }) => {
        const outOfMemory = result.decisions.find(({ kind }) => kind === 'out-of-memory');
        expect(outOfMemory?.sentence, `seed ${seed}`).toBeUndefined();
      });
      world.run();
    }
  });

  it('nor where it is only remembered what models keep at rest, rightly or wrongly', () => {
    let rests = 0;
    for (let seed = 1; seed <= HONEST_RUNS; seed += 1) {
      const told = honest(drawWorld(seed));
      const devices = told.devices.map((device) => ({ ...device, probe: 'total' as const }));
      const models = told.models.map((model) => remembering(model, seed));
      const world = new World({ ...told, devices, models }, ({ result }) => {
        const outOfMemory = result.decisions.find(({ kind }) => kind === 'out-of-memory');
        expect(outOfMemory?.sentence, `seed ${seed}`).toBeUndefined();
        const instances = Object.values(result.state.models).map(({ instance }) => instance);
        if (instances.some((one) => one?.phase === 'sleeping' && sumOf(one.claim) < sumOf(one.awakeClaim))) rests += 1;
      });
      world.run();
    }
    expect(rests, 'some rested on what was remembered').toBeGreaterThan(0);
  });

  it('plays the same world the same way every time', () => {
    const config = drawWorld(7);
    expect(runWorld(config)).toEqual(runWorld(config));
  });
});
