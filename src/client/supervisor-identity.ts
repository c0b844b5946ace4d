import type { SupervisorInfo } from './types.js';

/** What tells one run of a supervisor from the next at the same address. */
export type SupervisorIdentity = Pick<SupervisorInfo, 'pid' | 'startedAt'>;

export function identityOf({ pid, startedAt }: SupervisorIdentity): SupervisorIdentity {
  return { pid, startedAt };
}

export function isSameSupervisor(one: SupervisorIdentity, other: SupervisorIdentity): boolean {
  return one.pid === other.pid && one.startedAt === other.startedAt;
}
