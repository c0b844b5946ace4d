import type { RequestRefused } from '../supervisor/lease-desk.js';
import type { Supervisor } from '../supervisor/supervisor.js';
import type { ApiError } from './respond.js';

/** A refusal as clients are told it, with the record of its decision where one was made. */
export function toldRefusal(refused: RequestRefused, supervisor: Pick<Supervisor, 'decision'>): ApiError {
  const { status, code, message, retryAfterSeconds } = refused;
  return { status, code, message, retryAfterSeconds, decision: supervisor.decision(refused.decision) };
}
