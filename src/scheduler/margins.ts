import { isAmount } from './amounts.js';
import type { EventBody } from './events.js';
import type { Turn } from './turn.js';

/** System memory limits loads by itself only where there is no other device, unless the operator says otherwise. */
export function setMargins(turn: Turn): void {
  const { marginBytes, hostMarginBytes } = turn.state.settings;
  const devices = Object.values(turn.state.devices);
  const hostIsAlone = devices.every((device) => device.kind === 'host');
  for (const device of devices) {
    if (device.marginSet) continue;
    const margin = device.kind === 'host' ? (hostMarginBytes ?? (hostIsAlone ? marginBytes : 0)) : marginBytes;
    if (device.marginBytes !== margin) turn.state.devices[device.name] = { ...device, marginBytes: margin };
  }
}

/** The operator sets the margin of one device; it stays until the program ends. */
export function onMargin(turn: Turn, event: Extract<EventBody, { type: 'margin' }>): void {
  const device = turn.state.devices[event.device];
  if (device === undefined || !isAmount(event.marginBytes)) return;
  turn.state.devices[event.device] = { ...device, marginBytes: event.marginBytes, marginSet: true };
}
