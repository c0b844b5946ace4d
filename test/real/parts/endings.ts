import { isRunning, until } from '../../support/until.js';
import { ask } from '../clients.js';
import { during } from '../during.js';
import { Machine } from '../machine.js';
import { GPUS_MIB } from '../models.js';
import { NO_COUNTS, type Context, type Part } from '../part.js';
import { PINNED, Supervised } from '../supervised.js';

const MODEL = 'ant';
/** Nothing may be alive after that; a stop that lets a stream end first may take the stop-timeout of 10 s. */
const LIMIT_MILLIS = 3000;
const DRAIN_LIMIT_MILLIS = 12_000;

interface Situation {
  readonly name: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Brings the child there; requests that are then open end with it. */
  readonly reach: (supervised: Supervised) => Promise<{ readonly open: Promise<unknown> }>;
}

const SITUATIONS: readonly Situation[] = [
  {
    name: 'loading',
    args: [],
    // A load of about four seconds.
    environment: { EMU_ALLOC_MBPS: '50' },
    reach: async (supervised) => {
      const asked = ask(supervised.url, MODEL);
      await until('the child has begun to allocate', async () => (await processesOf(supervised.machine)).length > 0);
      return { open: asked };
    },
  },
  {
    name: 'streaming',
    args: [],
    environment: {},
    reach: async (supervised) => {
      const asked = ask(supervised.url, MODEL, { stream: true, tokens: 400 });
      await supervised.until('the model is busy', ({ models }) =>
        models.some(({ word, requests }) => word === 'ready' && requests > 0),
      );
      return { open: asked };
    },
  },
  {
    name: 'sleeping',
    args: ['--sleep-idle-seconds', '1'],
    environment: {},
    reach: async (supervised) => {
      await ask(supervised.url, MODEL);
      await supervised.until('the model sleeps', ({ models }) => models.some(({ word }) => word === 'sleeping'));
      return { open: Promise.resolve() };
    },
  },
];

/** How a supervisor is ended. */
interface Way {
  readonly name: string;
  readonly signal: NodeJS.Signals;
  /** Whether it lets streams end, for as long as its stop-timeout. */
  readonly drains: boolean;
  /** Whether the signal is for what holds the supervisor's terminal, so that the terminal goes. */
  readonly terminal: boolean;
}

const WAYS: readonly Way[] = [
  { name: 'SIGKILL', signal: 'SIGKILL', drains: false, terminal: false },
  { name: 'SIGTERM', signal: 'SIGTERM', drains: true, terminal: false },
  { name: 'Ctrl-C', signal: 'SIGINT', drains: true, terminal: false },
  { name: 'SIGHUP of a terminal that goes', signal: 'SIGKILL', drains: true, terminal: true },
];

export const endings: Part = {
  name: 'endings',
  story: 'the supervisor is ended in every way while a child loads, streams and sleeps; then it starts again',
  weight: 0,
  async run(context) {
    const faults: string[] = [];
    const remarks: string[] = [];
    for (const situation of SITUATIONS) {
      for (const way of WAYS) {
        const ending = await endWhile(context, situation, way);
        faults.push(...ending.faults);
        remarks.push(ending.remark);
      }
    }
    return { rows: [{ ...NO_COUNTS, name: 'endings' }], faults, remarks };
  },
};

function endWhile(
  context: Context,
  { name, args, environment, reach }: Situation,
  way: Way,
): Promise<{ readonly faults: readonly string[]; readonly remark: string }> {
  return during(new Machine(context.rig, GPUS_MIB, environment), async (machine) => {
    const what = `${way.name} while ${name}`;
    const flags = [...PINNED, ...args];
    const start = (): Promise<Supervised> => Supervised.start(machine, context.models, ...flags);
    const startInTerminal = (): Promise<Supervised> => Supervised.startInTerminal(machine, context.models, ...flags);
    const faults: string[] = [];
    let remark = '';
    await during(await (way.terminal ? startInTerminal() : start()), async (supervised) => {
      const { open } = await reach(supervised);
      const pids = await processesOf(machine);
      const began = performance.now();
      supervised.process.kill(way.signal);
      const limit = way.drains && name === 'streaming' ? DRAIN_LIMIT_MILLIS : LIMIT_MILLIS;
      const isOver = async (): Promise<boolean> => !pids.some(isRunning) && (await usedBytes(machine)) === 0;
      await until('nothing is left', isOver, limit).catch(() =>
        faults.push(`${what}: something is left after ${limit} ms`),
      );
      remark = `${what}: nothing left after ${(performance.now() - began).toFixed(0)} ms`;
      await open;
    });
    await during(await start(), async (supervised) => {
      const { supervisor } = await supervised.snapshot();
      if (supervisor.notices.length > 0) faults.push(`${what}: the next start says ${supervisor.notices.join('; ')}`);
      const answer = await ask(supervised.url, MODEL);
      if (answer !== null) faults.push(`${what}: after the next start ${answer}`);
    });
    return { faults, remark };
  });
}

async function processesOf(machine: Machine): Promise<readonly number[]> {
  return (await machine.gpus()).flatMap(({ processes }) => processes.map(({ pid }) => pid));
}

async function usedBytes(machine: Machine): Promise<number> {
  return (await machine.gpus()).reduce((sum, gpu) => sum + gpu.usedBytes, 0);
}
