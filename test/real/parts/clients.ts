import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { until } from '../../support/until.js';
import { CHECKS, type Clients, clientsOf } from '../official-clients.js';
import { NO_COUNTS, type Part } from '../part.js';
import { PINNED, Supervised } from '../supervised.js';
import { TOOL_CHECKS } from '../tool-calls.js';

/** Speaks; makes vectors; calls tools. */
const SPEAKS = 'ant';
const EMBEDS = 'bee';
const CALLS = 'cat';

const TEMPLATE = resolve(import.meta.dirname, '../tools.jinja');
/** Calls begin with `{` in that template: a byte, which stands behind three other tokens in the vocabulary. */
const BEGINS_CALLS = `logit-bias = ${3 + '{'.charCodeAt(0)}+100`;

export const clients: Part = {
  name: 'clients',
  story: "OpenAI's and Anthropic's own clients speak through us with a real llama-server, as if with it alone",
  weight: 0,
  run: ({ rig, models }) => {
    const preset = join(models, 'clients.ini');
    const path = (name: string): string => join(models, `${name}.gguf`);
    const section = (name: string, ...lines: readonly string[]): string =>
      [`[${name}]`, `model = ${path(name)}`, ...lines, ''].join('\n');
    writeFileSync(
      preset,
      section(SPEAKS, 'jinja = on') +
        section(EMBEDS, 'embeddings = on', 'pooling = mean') +
        section(CALLS, 'jinja = on', `chat-template-file = ${TEMPLATE}`, BEGINS_CALLS),
    );
    // Room for an answer that is still under way when its client goes.
    const args = [
      '--models-preset',
      preset,
      ...PINNED.map((flag, at) => (PINNED[at - 1] === '--ctx-size' ? '4096' : flag)),
    ];
    return Supervised.on(rig, { models, args }, async (supervised) => {
      const faults: string[] = [];
      const models = { speaks: SPEAKS, embeds: EMBEDS, calls: CALLS };
      const all = [...CHECKS, ...TOOL_CHECKS];
      for (const { name, check } of all) {
        const { url } = supervised;
        const clients: Clients = { ...clientsOf(url), ...models, url, childOf: (model) => childOf(supervised, model) };
        try {
          await check(clients);
          await supervised.until('nothing is in flight', (now) => now.models.every(({ requests }) => requests === 0));
        } catch (error) {
          faults.push(`${name}: ${error instanceof Error ? error.message.replaceAll(/\s+/gu, ' ') : String(error)}`);
        }
      }
      const counts = {
        requests: all.length,
        failed: faults.length,
        outOfMemory: await supervised.machine.refusals(),
      };
      return { rows: [{ ...NO_COUNTS, ...counts, name: 'clients' }], faults, remarks: [] };
    });
  },
};

/** Its process says it: the router tells nobody. */
async function childOf({ url, machine }: Supervised, model: string): Promise<string> {
  await fetch(`${url}/models/load`, { method: 'POST', body: JSON.stringify({ model }) });
  return until('the child of the model listens', async () => {
    const pids = (await machine.gpus()).flatMap(({ processes }) => processes.map(({ pid }) => pid));
    const words = pids.map(argumentsOf).find((all) => all[all.indexOf('--alias') + 1] === model);
    return words !== undefined && `http://127.0.0.1:${words[words.indexOf('--port') + 1] ?? ''}`;
  });
}

function argumentsOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return [];
  }
}
