/** A guard of the scheduler, and how to remove it: text that has to be there exactly once, and what stands there then. */
export interface Mutation {
  readonly guard: string;
  /** In src/scheduler. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** Where one change is not enough. */
  readonly also?: { readonly find: string; readonly replace: string };
}

export const MUTATIONS: readonly Mutation[] = [
  {
    guard: 'no busy victim',
    file: 'victims.ts',
    find: `  if (instance.leases.length > 0) return 'busy';\n`,
    replace: '',
  },
  {
    guard: 'no loading victim',
    file: 'victims.ts',
    find: `  if (instance.phase === 'loading') return 'loading';\n`,
    replace: '',
  },
  { guard: 'no pinned victim', file: 'victims.ts', find: `  if (model.pinned) return 'pinned';\n`, replace: '' },
  {
    guard: 'no victim that is stopping already',
    file: 'victims.ts',
    find: `  if (isLeaving(instance)) return 'stopping';\n`,
    replace: '',
  },
  {
    guard: 'no victim that is too young',
    file: 'victims.ts',
    find: `  if (isTooYoung(state, entry, instance)) return 'too young';\n`,
    replace: '',
  },
  {
    guard: 'no victim on a device that is not short',
    file: 'victims.ts',
    find: `  if (state.settings.policy !== 'lru-any-device' && !helps(instance.claim, shortage)) return 'not on this device';\n`,
    replace: '',
  },
  {
    guard: 'whoever is not needed after all stays',
    file: 'policies.ts',
    find: `if (!isShort(remaining(shortage, without))) plan.splice(plan.indexOf(candidate), 1);`,
    replace: 'void without;',
  },
  {
    guard: 'a load reserves its room in its own turn',
    file: 'ledger.ts',
    find: `        sum.reserved += claim - visible;\n`,
    replace: '',
  },
  {
    guard: 'what belongs to an old generation is ignored',
    file: 'turn.ts',
    find: `instance !== null && instance.generation === generation ? instance : null`,
    replace: 'instance',
  },
  {
    guard: 'the memory of an exited instance is held until it is seen to be back',
    file: 'exits.ts',
    find: `  holdUntilReleased(turn, { ...instance, model: event.model });\n`,
    replace: '',
  },
  {
    guard: 'a sample from before an exit confirms nothing',
    file: 'samples.ts',
    find: `takenAt <= release.exitedAt ? release.held : stillHeld`,
    replace: 'stillHeld',
  },
  {
    guard: 'memory of a process that is gone from the lists may not be back yet',
    file: 'samples.ts',
    find: `return nobodys > Math.max(noise, (1 - RETURNED_SHARE) * wasResident);`,
    replace: 'return nobodys < 0;',
  },
  {
    guard: 'an instance in no list is not taken for empty',
    file: 'samples.ts',
    find: `    else if (seen === null) continue;\n`,
    replace: '',
  },
  {
    guard: 'without attribution external does not fall while something comes or goes',
    file: 'samples.ts',
    find: `inTransition(turn.state, name, takenAt) ? device.externalBytes : 0`,
    replace: '0',
  },
  {
    guard: 'room that is set aside is not taken',
    file: 'admission.ts',
    find: ` - bytesOn(setAside.bytes, name)`,
    replace: '',
  },
  {
    guard: 'the place that is set aside is not taken',
    file: 'admission.ts',
    find: ` + setAside.instances`,
    replace: '',
  },
  {
    guard: 'only the head evicts',
    file: 'admission.ts',
    find: `  if (!mayEvict) return`,
    replace: '  if (!mayEvict && !entry.waiters) return',
  },
  {
    guard: 'the head is passed only so often',
    file: 'plan-queue.ts',
    find: `behind.bypassed < BYPASS_LIMIT`,
    replace: 'behind.bypassed >= 0',
  },
  {
    guard: 'one load at a time sizes itself to a device',
    file: 'admission.ts',
    find: `    if (sizing !== null) return { ...base, kind: 'wait-sizing', ...sizing };\n`,
    replace: '',
  },
  {
    guard: 'race: who waited for a load is served before its model can be evicted',
    file: 'plan-queue.ts',
    find: `    if (model !== null && !model.removed && takesLeases(model)) grantWaiters(turn, id);`,
    replace: `    void model;`,
    also: {
      find: `  const { instance } = model;
  if (instance !== null && isLeaving(instance))`,
      replace: `  const { instance } = model;
  if (takesLeases(model)) {
    grantWaiters(turn, id);
    return false;
  }
  if (instance !== null && isLeaving(instance))`,
    },
  },
  {
    guard: 'race: a draining model takes no new lease',
    file: 'leases.ts',
    find: ` && instance.draining === null`,
    replace: '',
  },
  {
    guard: 'race: a model at rest is woken before it is leased',
    file: 'leases.ts',
    find: `instance?.phase === 'ready' &&`,
    replace: `(instance?.phase === 'ready' || instance?.phase === 'sleeping') &&`,
  },
  {
    guard: 'race: a model that is pinned while it drains stays',
    file: 'operator.ts',
    find: `  if (pinned) keepPinned(turn, id);\n`,
    replace: '',
  },
  {
    guard: 'race: a victim is stopped once',
    file: 'lifecycle.ts',
    find: `  if (!model?.instance || model.instance.phase === 'stopping') return;\n  const { instance } = model;`,
    replace: `  if (!model?.instance) return;\n  const { instance } = model;`,
  },
  {
    guard: 'race: readiness does not undo a stop',
    file: 'lifecycle.ts',
    find: `    case 'ready':\n    case 'stopping':\n      return;`,
    replace: `    case 'ready':\n      return;\n    case 'stopping':\n      becomeReady(turn, id, instance, event);\n      return;`,
  },
  {
    guard: 'race: a request in flight keeps a model from going to rest',
    file: 'lifecycle.ts',
    find: `instance?.phase !== 'ready' || instance.leases.length > 0`,
    replace: `instance?.phase !== 'ready'`,
  },
  {
    guard: 'race: a reload tells those who wait for a model that is gone',
    file: 'catalog-change.ts',
    find: `  rejectWaiters(turn, id, removedMeanwhile(id));\n`,
    replace: '',
  },
  {
    guard: 'others: nobody is refused for what other programs have only just taken',
    file: 'admission.ts',
    find: `if (isForAMoment) return`,
    replace: 'if (!isForAMoment) return',
  },
  {
    guard: 'others: what they keep is not waited for',
    file: 'recent-room.ts',
    find: ` || now - recentRoom.at > MOMENT_MILLIS`,
    replace: '',
  },
  {
    guard: 'others: whoever waits for them holds nobody up',
    file: 'carry-out.ts',
    find: `return 'aside';`,
    replace: `return 'waits';`,
  },
  {
    guard: 'race: nobody leaves for a model that a reload found unusable',
    file: 'plan-queue.ts',
    find: `if (cannotServe(model)) {`,
    replace: 'if (cannotServe(model) && entry.waiters.length === 0) {',
  },
  {
    guard: 'race: a model that runs is not ended for what cannot be started',
    file: 'catalog-change.ts',
    find: `return invalid !== null && phase`,
    replace: 'return invalid === null && phase',
  },
  {
    guard: 'race: a waiter that has left is not served',
    file: 'leases.ts',
    find: `  leaveQueue(turn, event.model, event.request);\n`,
    replace: '',
  },
  {
    guard: 'race: a drained instance leaves with its last lease',
    file: 'leases.ts',
    find: `  if (leases.length === 0 && instance.draining !== null) stopInstance(turn, event.model, instance.draining);\n`,
    replace: '',
  },
  {
    guard: 'a drain that the operator asked for has a limit',
    file: 'lifecycle.ts',
    find: `  if (drainingUntil !== null) {`,
    replace: `  if (limitMillis !== null && limitMillis < 0) {`,
  },
  {
    guard: 'a model that failed is not tried again before its time',
    file: 'plan-queue.ts',
    find: `turn.state.now < model.retryAt`,
    replace: `turn.state.now < 0`,
  },
  {
    guard: 'a measurement of other arguments is ignored',
    file: 'measure.ts',
    find: ` || measuring.fingerprint !== event.fingerprint`,
    replace: '',
  },
  {
    guard: 'whoever has waited for long gets its turn',
    file: 'carry-out.ts',
    find: `      takeTurns(turn, entry, verdict);\n`,
    replace: '',
  },
  {
    guard: 'growth is said once for each step',
    file: 'growth.ts',
    find: `  patchInstance(turn, id, { told: { at: now, claim } });\n`,
    replace: '',
  },
  {
    guard: 'running out of memory raises the claim',
    file: 'exits.ts',
    find: `raised: outOfMemory ? raisedAfter(turn.state, model, instance, report.device, askedBytes) : model.raised`,
    replace: 'raised: model.raised',
  },
  {
    guard: 'a port that is taken is no failure of the model',
    file: 'exits.ts',
    find: `  const again = portsLost > 0 && portsLost < PORT_TRIES;`,
    replace: `  const again = portsLost > PORT_TRIES;`,
  },
  {
    guard: 'ports that are taken again and again are a failure',
    file: 'exits.ts',
    find: ` && portsLost < PORT_TRIES`,
    replace: '',
  },
  {
    guard: 'a load that was stopped since it stalled has failed',
    file: 'exits.ts',
    find: ` && silence === null)`,
    replace: ')',
  },
  {
    guard: 'race: a load that has come up meanwhile has not stalled',
    file: 'silence.ts',
    find: `?.phase !== 'loading') return;`,
    replace: ` === null) return;`,
  },
  {
    guard: 'a model that seems hung is killed only where the user said so',
    file: 'silence.ts',
    find: `  if (killHung) {`,
    replace: `  if (killHung || silentMillis > 0) {`,
  },
  {
    guard: 'clients whose time is over do not keep a child from leaving',
    file: 'lifecycle.ts',
    find: `  turn.effects.push({ type: 'hang-up', model: id, generation });\n`,
    replace: '',
  },
  {
    guard: 'the timer of an earlier drain ends no later one',
    file: 'lifecycle.ts',
    find: `  if (instance.drainingUntil === null || turn.state.now < instance.drainingUntil) return;\n`,
    replace: '',
  },
  {
    guard: 'a load waits for a measuring child that is in its room',
    file: 'admission.ts',
    find: `    return !model.spec.contextPinned || bytesOn(layout.need, name) > passingRoomBytes(account);\n`,
    replace: '    return false;\n',
  },
  {
    guard: 'nothing is measured where there is no room for it',
    file: 'measure.ts',
    find: `    if (!isSizing && bytes <= passingRoomBytes(account)) continue;\n`,
    replace: '    continue;\n',
  },
  {
    guard: 'the processor is for what no other device can take',
    file: 'layouts.ts',
    find: `  if (!noneIsLargeEnough) return onDevices;\n`,
    replace: '',
  },
  {
    guard: 'a pin is not cancelled',
    file: 'cancel.ts',
    find: `  return wanted === 'operator' || wanted === 'startup';\n`,
    replace: '  return wanted !== null;\n',
  },
  {
    guard: 'of one request that is cancelled the others do not hear',
    file: 'cancel.ts',
    find: `request === undefined || other === request`,
    replace: 'true',
  },
  {
    guard: 'who is being answered is cut off when it is cancelled',
    file: 'cancel.ts',
    find: `  for (const lease of running) turn.effects`,
    replace: '  for (const lease of waiting) turn.effects',
  },
  {
    guard: 'a model at work is not put to sleep',
    file: 'park.ts',
    find: `  return length > 0\n`,
    replace: '  return length < 0\n',
  },
  {
    guard: 'unread: a GPU that could never be read is not loaded on in the dark',
    file: 'unread.ts',
    find: `? (state.unread?.[name] ?? null) : null`,
    replace: '? null : null',
  },
  {
    guard: 'unread: a report of a child does not stand in for a driver that fails',
    file: 'unread.ts',
    find: `return lasting ? device : {`,
    replace: 'return problem !== "" ? device : {',
  },
  {
    guard: 'unread: nothing is measured where a driver does not answer',
    file: 'measure.ts',
    find: `    if (model !== null && waitsForDriver(turn.state, model)) continue;\n`,
    replace: '',
  },
  {
    guard: 'unread: models are measured anew where a driver has come up',
    file: 'catalog-change.ts',
    find: `!sameLayouts(known.spec.placements, spec.placements) || `,
    replace: '',
  },
  {
    guard: 'unread: what a model is seen to hold while it goes to rest is not what it keeps',
    file: 'rest.ts',
    find: `takenAt >= restingSince + SETTLING_MILLIS`,
    replace: 'takenAt >= restingSince',
  },
  {
    guard: 'what is seen of a model that has only just come up or woken is not the whole',
    file: 'transition.ts',
    find: `takenAt >= (wokeAt ?? readyAt) + SETTLING_MILLIS`,
    replace: 'takenAt >= readyAt',
  },
  {
    guard: 'an instance with other arguments than its model has now teaches nothing',
    file: 'samples.ts',
    find: `  if (isOutdated(instance, model)) return;\n`,
    replace: '',
  },
  {
    guard: 'unseen: where nobody can see it, a model at rest counts for what it kept before',
    file: 'rest.ts',
    find: `else if (!attributed && isBack(`,
    replace: 'else if (attributed && isBack(',
  },
  {
    guard: 'unseen: it does so only once the total says that the rest is back',
    file: 'rest.ts',
    find: `return usedBytes <= expected;`,
    replace: 'return usedBytes < Infinity;',
  },
  {
    guard: 'unseen: what was seen of a rest stays known while it is not seen',
    file: 'rest.ts',
    find: `const rested = { ...Object.fromEntries(unseen), ...resident };`,
    replace: 'const rested = unseen.length < 0 ? before : resident;',
  },
  {
    guard: 'unseen: nobody is raised by what others seemed to hold',
    file: 'raised.ts',
    find: `doubtAbout(state, name) === null ? roomBeside(state, instance, device) + 1 : 0`,
    replace: 'roomBeside(state, instance, device) + 1',
  },
  {
    guard: 'nobody leaves for somebody who waits no longer',
    file: 'plan-queue.ts',
    find: `  endNeedlessDrains(turn);\n`,
    replace: '',
  },
  {
    guard: 'what a measuring child leaves behind for a moment is nobody else’s',
    file: 'measure.ts',
    find: `  holdAfterMeasuring(turn, measuring);\n`,
    replace: '',
  },
  {
    guard: 'what one measuring child leaves behind is not taken for another’s',
    file: 'measure.ts',
    find: `const generation = -measurings;`,
    replace: 'const generation = -1;',
  },
];
