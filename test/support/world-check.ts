import type { Effect } from '../../src/scheduler/effects.js';
import type { Event } from '../../src/scheduler/events.js';
import { violations } from '../../src/scheduler/invariants.js';
import type { State } from '../../src/scheduler/state.js';
import type { StepResult } from '../../src/scheduler/step.js';
import { freezeDeep, freezePlain } from './freeze-plain.js';
import { ledgerOf } from '../../src/scheduler/ledger.js';
import { roomLackingFor } from '../../src/scheduler/measure.js';

/** Something that must never be the case. `kind` stays the same when a trace is made shorter. */
export class Broken extends Error {
  override readonly name = 'Broken';
  readonly kind: string;

  constructor(kind: string, text: string) {
    super(`${kind}: ${text}`);
    this.kind = kind;
  }
}

interface Turn {
  readonly event: Event;
  readonly before: State;
  readonly result: StepResult;
}

/**
 * Looks at every turn from outside, knowing nothing but events and effects, and keeps its own books. Throws Broken at
 * the first thing that must not be.
 */
export class Witness {
  /** Requests that came and have neither gone nor been refused: with the generation of their lease, or 0. */
  readonly #open = new Map<string, { readonly model: string; generation: number }>();
  /** Children that were asked for and whose exit was not told yet, by generation. */
  readonly #alive = new Map<number, string>();
  /** Timers that were armed and have not fired. */
  readonly #armed = new Set<string>();
  #latest: State | null = null;

  see({ event, before, result }: Turn): void {
    const { state, effects } = result;
    freezeDeep(event);
    freezePlain(state, 'state');
    freezePlain(effects, 'effects');
    freezePlain(result.decisions, 'decisions');
    this.#latest = state;
    this.#takeIn(event);
    for (const effect of effects) this.#carryOut(effect, event, before, state);
    const [first] = violations(state);
    if (first !== undefined) throw new Broken('state', first);
    this.#compareRequests(state);
    this.#compareChildren(state);
    checkAdmissions(result);
  }

  /** True when nothing is going on that could end by itself: no load, no stop, no lease, no timer. */
  isAtRest(): boolean {
    const state = this.#latest;
    if (state === null || this.#armed.size > 0 || state.releases.length > 0 || state.measuring !== null) return false;
    return Object.values(state.models).every(
      ({ instance }) =>
        instance === null ||
        (instance.phase !== 'loading' && instance.phase !== 'stopping' && instance.leases.length === 0),
    );
  }

  /** Once everything that was going on has ended, nobody waits. */
  checkRest(): void {
    const state = this.#latest;
    if (state === null) return;
    for (const { model, wanted, waiters, why } of state.queue) {
      // A pin that cannot fit may wait for ever; whoever asked may not.
      if (waiters.length > 0 || wanted !== 'pin') throw new Broken('liveness', `'${model}' waits for ever: ${why}`);
    }
    const ledger = ledgerOf(state);
    for (const id of state.measureQueue) {
      const model = state.models[id];
      // Nobody is asked to leave for a measurement that nobody waits for.
      if (model !== undefined && roomLackingFor(state, ledger, model)?.passes === false) continue;
      throw new Broken('liveness', `'${id}' waits to be measured for ever`);
    }
    if (state.watchingClosely) throw new Broken('liveness', 'devices are watched closely for ever');
    if (!this.isAtRest()) throw new Broken('liveness', 'something goes on for ever');
  }

  /** Where something goes on again and again, like a pinned model that cannot be loaded, nobody else waits for long. */
  checkPatience(limitMillis: number): void {
    const state = this.#latest;
    for (const { model, waiters, why } of state?.queue ?? []) {
      const [first] = waiters;
      if (state !== null && first !== undefined && state.now - first.since > limitMillis)
        throw new Broken('patience', `'${model}' waits for too long: ${why}`);
    }
  }

  #takeIn(event: Event): void {
    if (event.type === 'request') this.#open.set(event.request, { model: event.model, generation: 0 });
    if (event.type === 'request-ended') this.#open.delete(event.request);
    if (event.type === 'timer') this.#armed.delete(JSON.stringify(event.timer));
    if (event.type === 'exited' && this.#alive.get(event.generation) === event.model) {
      this.#alive.delete(event.generation);
      for (const [request, { generation }] of this.#open)
        if (generation === event.generation) this.#open.delete(request);
    }
  }

  #carryOut(effect: Effect, event: Event, before: State, after: State): void {
    switch (effect.type) {
      case 'grant': {
        const request = this.#open.get(effect.request);
        if (request?.generation !== 0) throw new Broken('outcome', `${effect.request} is granted, but does not wait`);
        if (this.#alive.get(effect.generation) !== effect.model)
          throw new Broken('grant', `${effect.request} gets a lease of a generation that does not live`);
        request.generation = effect.generation;
        return;
      }
      case 'reject':
        if (this.#open.get(effect.request)?.generation !== 0)
          throw new Broken('outcome', `${effect.request} is refused, but does not wait`);
        this.#open.delete(effect.request);
        return;
      case 'spawn':
        for (const [generation, model] of this.#alive)
          if (model === effect.model)
            throw new Broken('two children', `${model} has one of generation ${generation} still`);
        if (this.#alive.has(effect.generation)) throw new Broken('two children', 'a generation is used twice');
        this.#alive.set(effect.generation, effect.model);
        return;
      case 'stop':
        checkStop(effect, event, before, after);
        return;
      case 'wake': {
        const instance = after.models[effect.model]?.instance;
        if (instance?.generation !== effect.generation || instance.phase !== 'loading')
          throw new Broken('wake', `${effect.model} is woken, but not loading`);
        return;
      }
      case 'cut-off':
        if (this.#open.get(effect.request)?.generation !== effect.generation)
          throw new Broken('outcome', `${effect.request} is cut off, but is not being answered`);
        return;
      case 'park': {
        const instance = after.models[effect.model]?.instance;
        if (instance?.phase !== 'ready' || instance.leases.length > 0)
          throw new Broken('park', `${effect.model} is told to sleep, but is not idle`);
        return;
      }
      case 'arm-timer':
        if (!Number.isFinite(effect.at)) throw new Broken('timer', 'a timer without a time');
        this.#armed.add(JSON.stringify(effect.timer));
        return;
      case 'hang-up':
        if (after.models[effect.model]?.instance?.phase !== 'stopping')
          throw new Broken('hang-up', `${effect.model} loses its clients, but is not stopping`);
        return;
      case 'watch-devices':
      case 'look-at-devices':
      case 'measure':
      case 'cancel-measure':
      case 'remember':
      case 'save-pins':
        return;
    }
  }

  /** What the scheduler believes of requests is what was told. */
  #compareRequests(state: State): void {
    let known = 0;
    for (const { model, waiters } of state.queue) {
      for (const { request } of waiters) {
        const open = this.#open.get(request);
        if (open?.model !== model || open.generation !== 0)
          throw new Broken('outcome', `${request} waits, but is done`);
        known += 1;
      }
    }
    for (const { spec, instance } of Object.values(state.models)) {
      for (const request of instance?.leases ?? []) {
        const open = this.#open.get(request);
        if (open?.model !== spec.id || open.generation !== instance?.generation)
          throw new Broken('lease', `${spec.id} counts ${request}, which is over`);
        known += 1;
      }
    }
    if (known === this.#open.size) return;
    throw new Broken('outcome', `${this.#open.size} requests are open, but the scheduler knows of ${known}`);
  }

  #compareChildren(state: State): void {
    let known = 0;
    for (const { spec, instance } of Object.values(state.models)) {
      if (instance === null) continue;
      known += 1;
      if (this.#alive.get(instance.generation) !== spec.id)
        throw new Broken('children', `${spec.id} has an instance that was never started, or has ended`);
    }
    if (known !== this.#alive.size) throw new Broken('children', `${this.#alive.size} live, but ${known} are known`);
  }
}

/** Busy, loading and pinned instances are stopped by nobody but the operator, a reload and shutdown. */
function checkStop(effect: Extract<Effect, { type: 'stop' }>, event: Event, before: State, after: State): void {
  const { model: id, generation } = effect;
  const model = after.models[id];
  const instance = model?.instance ?? null;
  if (instance?.generation !== generation || instance.phase !== 'stopping')
    throw new Broken('stop', `${id} is stopped, but not stopping`);
  const then = before.models[id]?.instance?.phase ?? 'ready';
  // The operator may kill what is leaving already.
  if (instance.stopReason?.kind !== 'evicted' || then === 'stopping') return;
  if (instance.leases.length > 0) throw new Broken('stop', `${id} is evicted while busy`);
  if (model?.pinned) throw new Broken('stop', `${id} is evicted although it is pinned`);
  const isJustReady = event.type === 'ready' && event.model === id;
  if (then === 'loading' && !isJustReady) throw new Broken('stop', `${id} is evicted while it loads`);
}

/** Straight after an admission everything that was promised fits, unless it was loaded beyond the limits. */
function checkAdmissions({ state, decisions, effects }: StepResult): void {
  for (const [index, decision] of decisions.entries()) {
    if (decision.kind !== 'admit' && decision.kind !== 'backfill' && decision.kind !== 'wake') continue;
    const instance = state.models[decision.model]?.instance;
    if (instance?.phase !== 'loading') throw new Broken('admission', `${decision.model} is admitted, but not loading`);
    const { modelsMax } = state.settings;
    const isNew = effects.some((effect) => effect.type === 'spawn' && effect.model === decision.model);
    if (isNew && !decision.proceeded && modelsMax > 0 && decision.runningInstances >= modelsMax)
      throw new Broken('admission', `${decision.runningInstances + 1} run, but only ${modelsMax} may`);
    // What goes beyond the limits later in the same turn does so knowingly.
    if (instance.beyondLimits || decisions.slice(index).some((later) => later.proceeded)) continue;
    for (const { device, needBytes } of decision.ledger) if (needBytes > 0) checkDevice(state, device, decision.model);
  }
}

function checkDevice(state: State, name: string, model: string): void {
  const device = state.devices[name];
  if (device === undefined || device.marginBytes === 0) return;
  let promised = device.externalBytes + device.marginBytes;
  for (const { instance } of Object.values(state.models)) promised += instance?.claim[name] ?? 0;
  for (const release of state.releases) promised += release.held[name] ?? 0;
  if (promised > device.totalBytes)
    throw new Broken(
      'admission',
      `${model} is admitted, and ${name} is promised ${promised - device.totalBytes} too much`,
    );
}
