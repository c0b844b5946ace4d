import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { journalFiles } from '../../src/journal/files.js';
import { JournalWriter, type JournalOptions } from '../../src/journal/record.js';
import type { DeviceReading, EventBody } from '../../src/scheduler/events.js';
import type { Effect } from '../../src/scheduler/effects.js';
import type { Settings, State } from '../../src/scheduler/state.js';
import { initialState } from '../../src/scheduler/step.js';
import { GIB, type Millis, type ModelId } from '../../src/scheduler/units.js';
import { SchedulerLoop, type Turned } from '../../src/supervisor/loop.js';
import { DEFAULT_SETTINGS } from '../../src/scheduler/default-settings.js';
import { spec } from './stage.js';

const MODELS: Readonly<Record<ModelId, number>> = { alpha: 4, beta: 7, gamma: 12, delta: 3, epsilon: 9 };
const DEVICE_GIB = 24;

/** The supervisor's loop with a real journal, and children that do at once what they are told. */
export class RecordedRun {
  readonly directory: string;
  readonly notices: string[] = [];
  readonly turns: Turned[] = [];
  readonly writer: JournalWriter;
  readonly loop: SchedulerLoop;
  now: Millis = 1_700_000_000_000;
  /** Called with each effect before it is carried out. */
  onEffect: (effect: Effect) => void = () => undefined;
  #requests = 0;

  constructor(options: Partial<JournalOptions> = {}, settings: Partial<Settings> = {}) {
    this.directory = options.directory ?? join(mkdtempSync(join(tmpdir(), 'journal-')), 'journal');
    const all = { capBytes: 2 ** 25, version: '1.2.3', scheduler: 'a build', startedAt: this.now, ...options };
    this.writer = new JournalWriter({ ...all, directory: this.directory }, (notice) => this.notices.push(notice));
    this.loop = new SchedulerLoop({
      initial: initialState({ ...DEFAULT_SETTINGS, ...settings }),
      now: () => this.now,
      journal: this.writer,
      runEffect: (effect) => this.#run(effect),
      onTurn: (turned) => this.turns.push(turned),
    });
    this.sample();
    const models = Object.entries(MODELS).map(([id, gib]) => spec(id, { CUDA0: gib }));
    this.play({ type: 'catalog', models, pins: [] });
  }

  get state(): State {
    return this.loop.state;
  }

  get files(): readonly string[] {
    return journalFiles(this.directory);
  }

  /** The only or newest file. */
  get file(): string {
    return this.files.at(-1) ?? '';
  }

  play(body: EventBody, later: Millis = 7): void {
    this.now += later;
    this.loop.dispatch(body);
  }

  /** Everybody asks for something, over and over, as a sequence of numbers says that begins with the seed. */
  churn(rounds: number, seed = 1): void {
    let random = seed;
    const open: { request: string; model: ModelId }[] = [];
    for (let round = 0; round < rounds; round += 1) {
      random = (random * 48_271) % 2_147_483_647;
      const model = Object.keys(MODELS)[random % 5] ?? 'alpha';
      this.#requests += 1;
      const request = `r${this.#requests}`;
      this.play({ type: 'request', request, model, autoload: true });
      open.push({ request, model });
      if (open.length > random % 4) {
        const ended = open.shift();
        if (ended !== undefined) this.play({ type: 'request-ended', ...ended });
      }
      if (random % 11 === 0) this.crash(model);
      this.sample();
    }
  }

  /** The model's process is killed from outside, if there is one. */
  crash(model: ModelId): void {
    const generation = this.state.models[model]?.instance?.generation;
    if (generation !== undefined) this.#exited(model, generation, 'killed');
  }

  sample(): void {
    const instances = Object.values(this.loop.state.models).flatMap(({ spec: { id }, instance }) =>
      instance === null ? [] : [{ model: id, generation: instance.generation, resident: instance.claim }],
    );
    const ours = instances.reduce((sum, { resident }) => sum + (resident['CUDA0'] ?? 0), 0);
    const device: DeviceReading = {
      ...{ name: 'CUDA0', kind: 'discrete', description: 'a device', attributed: true },
      ...{ totalBytes: DEVICE_GIB * GIB, usedBytes: ours },
    };
    this.play({ type: 'sample', takenAt: this.now + 5, devices: [device], instances });
  }

  #run(effect: Effect): void {
    this.onEffect(effect);
    if (effect.type === 'spawn') {
      const { model, generation } = effect;
      this.play({ type: 'spawned', model, generation, pid: 1000 + generation });
      this.play({ type: 'ready', model, generation, contextTokens: 4096, effective: null }, 500);
    } else if (effect.type === 'stop') this.#exited(effect.model, effect.generation, 'stopped');
  }

  #exited(model: ModelId, generation: number, exitClass: 'stopped' | 'killed'): void {
    const ending = { exitCode: null, signal: 'SIGKILL', reason: exitClass, device: null, askedBytes: null };
    this.play({ type: 'exited', model, generation, exitClass, ...ending });
  }
}
