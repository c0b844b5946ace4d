import { bytesOn } from './amounts.js';
import { claimFor, roomWhenAlone } from './ledger.js';
import { tooSmallFor } from './rooms.js';
import type { ClaimQuality, Instance, Model, Placement, State } from './state.js';
import { HOST, type Bytes, type DeviceBytes, type DeviceName } from './units.js';

/** A placement with what would be counted for it. */
export interface Layout {
  /** What it will claim once it is up. */
  readonly claim: DeviceBytes;
  readonly claimQuality: ClaimQuality;
  /** What has to be found now: the claim, less what a sleeping or parked instance holds already. */
  readonly need: DeviceBytes;
  /** Null when there is only one way to lay the model out: its own options say where it goes. */
  readonly devices: readonly DeviceName[] | null;
  /** True when it cannot fit whole even alone, and is left to size itself. */
  readonly squeezed: boolean;
  /** True for the processor where every device of the other layouts is too small. */
  readonly lastResort: boolean;
}

/** Waking needs what was given up, where it was; a load may be laid out in every way that is known. */
export function layoutsOf(state: State, model: Model): readonly Layout[] {
  if (model.instance !== null) return [wakingLayout(model.instance)];
  const placements = model.measured ?? model.spec.placements;
  const layouts = placements.map((placement) => loadingLayout(state, model, placement, placements.length > 1));
  const onDevices = layouts.filter(({ claim }) => usesDevices(claim));
  if (onDevices.length === 0) return layouts;
  // The processor is many times slower: it is for what no device can take, not for what would have to wait for one.
  const noneIsLargeEnough = onDevices.every(({ claim }) => tooSmallFor(state, claim).length > 0);
  if (!noneIsLargeEnough) return onDevices;
  return layouts.map((layout) => ({ ...layout, lastResort: !usesDevices(layout.claim) }));
}

function usesDevices(claim: DeviceBytes): boolean {
  return Object.keys(claim).some((name) => name !== HOST && bytesOn(claim, name) > 0);
}

function wakingLayout({ awakeClaim, claim, claimQuality }: Instance): Layout {
  const need = Object.fromEntries(
    Object.entries(awakeClaim).map(([name, bytes]) => [name, Math.max(0, bytes - bytesOn(claim, name))]),
  );
  return { claim: awakeClaim, claimQuality, need, devices: null, squeezed: false, lastResort: false };
}

function loadingLayout(state: State, model: Model, placement: Placement, isChoice: boolean): Layout {
  const { claim, claimQuality } = claimFor(state.devices, model, placement);
  const devices = isChoice ? Object.keys(placement.need).filter((name) => name !== HOST) : null;
  const layout = { claim, claimQuality, need: claim, devices, squeezed: false, lastResort: false };
  if (!model.spec.fits) return layout;

  const capped: Record<DeviceName, Bytes> = {};
  for (const [name, bytes] of Object.entries(claim)) capped[name] = Math.min(bytes, roomWhenAlone(state.devices[name]));
  const squeezed = Object.keys(claim).some((name) => capped[name] !== claim[name]);
  return { ...layout, claim: capped, need: capped, squeezed };
}
