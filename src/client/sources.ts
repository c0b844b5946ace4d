import type { Ability, Source } from './types.js';

const ACTIONS: readonly Ability[] = [
  ...(['load', 'withdraw', 'unload', 'kill', 'pin', 'unpin'] as const),
  ...(['block', 'unblock', 'measure', 'cancel', 'park', 'wake'] as const),
];

/** A supervisor on this machine, over its socket. */
export const SUPERVISOR: Source = {
  kind: 'supervisor',
  can: new Set<Ability>([...ACTIONS, 'reload', 'plan', 'logs', 'stop', 'detach']),
};

/** A supervisor at a URL: whoever reaches it over the network may not end it. */
export const REMOTE_SUPERVISOR: Source = {
  kind: 'supervisor',
  can: new Set<Ability>([...ACTIONS, 'reload', 'plan', 'logs']),
};

/** The router that a llama-server is. */
export const STOCK_ROUTER: Source = { kind: 'router', can: new Set<Ability>(['load', 'unload', 'reload']) };

/** A recorded journal: what has happened cannot be changed. */
export const RECORDED: Source = { kind: 'replay', can: new Set<Ability>(['plan']) };

/** What something that is looked at says to a wish that it cannot fulfil. */
export function refusalOf({ kind }: Source, wish: string): string {
  switch (kind) {
    case 'supervisor':
      return `${wish} is for screens on the supervisor's own machine`;
    case 'router':
      return `a llama-server router has no ${wish}`;
    case 'replay':
      return `this is a recording: ${wish} changes nothing any more`;
  }
}
