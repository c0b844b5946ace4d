import { bytesOn } from './amounts.js';
import { sayAmounts, sayDuration } from './explain.js';
import { isSettled } from './transition.js';
import { modelOf, note, patchInstance, type Turn } from './turn.js';
import type { Bytes, Millis, ModelId } from './units.js';

/** Growth up to the larger of these is what buffers take that are only made by the first work. */
const UNTOLD_SHARE = 0.1;
const UNTOLD_BYTES: Bytes = 512 * 1024 ** 2;

/**
 * Says of an instance that is up when it holds far more than was last said of it: its claim has followed, but whoever
 * looks for the memory that is gone should find who has it. Once for each such step, not for each sample.
 */
export function tellGrowth(turn: Turn, id: ModelId, takenAt: Millis): void {
  const instance = modelOf(turn.state, id)?.instance;
  if (!instance?.told || instance.restingSince !== null || !isSettled(instance, takenAt)) return;
  const { claim, told } = instance;
  const { now } = turn.state;
  const grown = Object.keys(claim).filter((device) => {
    const before = bytesOn(told.claim, device);
    return bytesOn(claim, device) > before + Math.max(UNTOLD_BYTES, UNTOLD_SHARE * before);
  });
  if (grown.length === 0) return;
  const on = (amounts: typeof claim): string =>
    sayAmounts(Object.fromEntries(grown.map((device) => [device, bytesOn(amounts, device)])));
  note(
    turn,
    'notice',
    id,
    `${id}: has grown to ${on(claim)}, from ${on(told.claim)} ${sayDuration(now - told.at)} ago; that is what it counts for from now on`,
  );
  patchInstance(turn, id, { told: { at: now, claim } });
}
