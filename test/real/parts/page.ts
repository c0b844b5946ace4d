import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Browser, findChromium, type Loaded } from '../browser.js';
import { during } from '../during.js';
import { NO_COUNTS, type Part } from '../part.js';
import { PINNED, Supervised } from '../supervised.js';

const PAGE = resolve(import.meta.dirname, '../page');
/** Both at the same time are too much for the GPU: changing the model evicts. */
const [FIRST, SECOND] = ['cat', 'dog'];
const TOKENS = 40;

interface Chat {
  readonly status: number;
  readonly model: string;
  readonly pieces: number;
  readonly reads: number;
  readonly shown: number;
}

export const page: Part = {
  name: 'page',
  story: 'a page that a stock llama-server serves works in a browser through us: its files, a chat, another model',
  weight: 0,
  run: ({ rig, models }) => {
    const chromium = findChromium();
    if (chromium === null) {
      return Promise.resolve({ rows: [], faults: [], remarks: ['page: not run: no Chromium here'] });
    }
    const preset = join(models, 'page.ini');
    const section = (name: string): string => `[${name}]\nmodel = ${join(models, `${name}.gguf`)}\npath = ${PAGE}\n`;
    writeFileSync(preset, section(FIRST) + section(SECOND));
    const args = ['--models-preset', preset, ...PINNED];
    return Supervised.on(rig, { models, args }, async (supervised) => {
      const faults: string[] = [];
      await during(await Browser.start(chromium), async (browser) => {
        const check = (what: string, isSo: boolean, seen: unknown): void => {
          if (!isSo) faults.push(`page: ${what}: ${JSON.stringify(seen).slice(0, 300)}`);
        };
        const chat = async (model: string): Promise<void> => {
          const said = (await browser.evaluate(`chat('${model}', 'Tell a story.', ${TOKENS})`)) as Chat;
          const isWhole = said.status === 200 && said.model === model && said.pieces > 10 && said.shown > 0;
          check(`an answer of ${model} is shown while it is written`, isWhole && said.reads > 5, said);
        };
        const load = await fetch(`${supervised.url}/models/load`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ model: FIRST }),
        });
        check('a model can be loaded', load.ok, await load.text());
        await supervised.until('it is up', (state) => state.models.some(({ word }) => word === 'ready'));

        await browser.open(supervised.url);
        await browser.until('document.querySelector("#state").textContent === "ready"');
        const of = (name: string): Loaded | undefined => browser.loaded.find(({ url }) => url.endsWith(name));
        check('the page comes as HTML', of('/')?.mimeType === 'text/html', browser.loaded);
        check('its script as a script', of('app.js')?.mimeType === 'text/javascript', browser.loaded);
        check('its style as a style', of('style.css')?.mimeType === 'text/css', browser.loaded);
        const color = await browser.evaluate('getComputedStyle(document.querySelector("#answer")).color');
        check('its style is in force', color === 'rgb(1, 2, 3)', color);
        const options = await browser.evaluate('document.querySelector("#models").options.length');
        check('it knows the models', Number(options) >= 2, options);

        await chat(FIRST);
        await chat(SECOND);
        // The page comes from another process by now, if the first had to leave.
        await browser.open(supervised.url);
        await browser.until('document.querySelector("#state").textContent === "ready"');
        await chat(FIRST);
        check('nothing was amiss in the page', browser.complaints.length === 0, browser.complaints);
      });
      const counts = { requests: 3, failed: faults.length, outOfMemory: await supervised.machine.refusals() };
      return { rows: [{ ...NO_COUNTS, ...counts, name: 'page' }], faults, remarks: [] };
    });
  },
};
