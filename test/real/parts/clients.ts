import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CHECKS, type Clients, clientsOf } from '../official-clients.js';
import { NO_COUNTS, type Part } from '../part.js';
import { PINNED, Supervised } from '../supervised.js';

/** Speaks; and makes vectors. */
const SPEAKS = 'ant';
const EMBEDS = 'bee';

export const clients: Part = {
  name: 'clients',
  story: "OpenAI's and Anthropic's own clients speak through us with a real llama-server, as if with it alone",
  weight: 0,
  run: ({ rig, models }) => {
    const preset = join(models, 'clients.ini');
    const path = (name: string): string => join(models, `${name}.gguf`);
    writeFileSync(
      preset,
      `[${SPEAKS}]\nmodel = ${path(SPEAKS)}\njinja = on\n[${EMBEDS}]\nmodel = ${path(EMBEDS)}\nembeddings = on\npooling = mean\n`,
    );
    // Room for an answer that is still under way when its client goes.
    const args = [
      '--models-preset',
      preset,
      ...PINNED.map((flag, at) => (PINNED[at - 1] === '--ctx-size' ? '4096' : flag)),
    ];
    return Supervised.on(rig, { models, args }, async (supervised) => {
      const faults: string[] = [];
      for (const { name, check } of CHECKS) {
        const clients: Clients = clientsOf(supervised.url, SPEAKS, EMBEDS);
        try {
          await check(clients);
          await supervised.until('nothing is in flight', ({ models: all }) =>
            all.every(({ requests }) => requests === 0),
          );
        } catch (error) {
          faults.push(`${name}: ${error instanceof Error ? error.message.replaceAll(/\s+/gu, ' ') : String(error)}`);
        }
      }
      const counts = {
        requests: CHECKS.length,
        failed: faults.length,
        outOfMemory: await supervised.machine.refusals(),
      };
      return { rows: [{ ...NO_COUNTS, ...counts, name: 'clients' }], faults, remarks: [] };
    });
  },
};
