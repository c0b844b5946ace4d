import { compareAtRest } from '../agreement.js';
import { ask } from '../clients.js';
import { NO_COUNTS, type Part } from '../part.js';
import { PINNED, Supervised } from '../supervised.js';

/** Room for one that is up and one that sleeps (its CUDA context of 200 MiB stays), not for two that are up. */
const GPU_MIB = 700;

export const sleeping: Part = {
  name: 'sleeping',
  story: 'a model that sleeps is counted for what it still holds, and wakes only when there is room for it',
  weight: 0,
  run: ({ rig, models }) => {
    const setting = { gpus: [GPU_MIB], models, args: [...PINNED, '--sleep-idle-seconds', '1'] };
    return Supervised.on(rig, setting, async (supervised) => {
      const failures = [await ask(supervised.url, 'ant')];
      await untilAsleep(supervised);
      const asleep = await compareAtRest(supervised);
      // Both fit as long as one of them sleeps; waking it takes what the other holds.
      failures.push(await ask(supervised.url, 'bee'));
      const evictedForBee = supervised.made('evict').length;
      failures.push(await ask(supervised.url, 'ant'));
      await untilAsleep(supervised);
      const rest = await compareAtRest(supervised);
      const woken = supervised.made('wake').some(({ model }) => model === 'ant');
      const evicted = supervised.made('evict').some(({ model, forModel }) => model === 'bee' && forModel === 'ant');
      const failed = failures.filter((failure) => failure !== null);
      return {
        rows: [
          {
            ...NO_COUNTS,
            name: 'sleeping',
            requests: failures.length,
            failed: failed.length,
            outOfMemory: await supervised.machine.refusals(),
            evictions: supervised.made('evict').length,
            worstDisagreement: Math.max(asleep.worst, rest.worst),
          },
        ],
        faults: [
          ...failed,
          ...asleep.faults.map((fault) => `asleep, ${fault}`),
          ...rest.faults.map((fault) => `asleep again, ${fault}`),
          ...(evictedForBee > 0 ? ['somebody left for bee, though there was room beside a model that sleeps'] : []),
          ...(woken ? [] : ['ant was not woken by a decision']),
          ...(evicted ? [] : ['bee did not leave for ant to wake']),
        ],
        remarks: [],
      };
    });
  },
};

async function untilAsleep(supervised: Supervised): Promise<void> {
  await supervised.until('ant sleeps', ({ models }) =>
    models.some(({ id, word }) => id === 'ant' && word === 'sleeping'),
  );
}
