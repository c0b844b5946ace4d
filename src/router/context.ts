import type { Supervisor } from '../supervisor/supervisor.js';
import type { ApiKeys } from './auth.js';
import type { ChildConnections } from './child-connections.js';
import type { Conversations } from './conversations.js';
import type { CorsPolicy } from './cors.js';
import type { Exchange } from './exchange.js';
import type { Metrics } from './metrics.js';
import type { HeldBodies } from './request-body.js';

/** Screens that came and went, and what they want of the supervisor itself. */
export interface ScreenDesk {
  /** A screen that started this supervisor is connected; the returned function tells that it has gone. */
  ownerConnected(): () => void;
  detach(): void;
  shutdown(): void;
}

/** What every handler works with. */
export interface RouterContext {
  readonly supervisor: Supervisor;
  readonly desk: ScreenDesk;
  readonly keys: ApiKeys;
  readonly cors: CorsPolicy;
  readonly maxBodyBytes: number;
  /** Whether a request may load a model, where it does not say so itself. */
  readonly autoload: boolean;
  /** Where the files of a page are (`--path`); null: nowhere. */
  readonly pageDirectory: string | null;
  /** What llama-server's page is to start with. */
  readonly uiSettings: object;
  /** What stands before every path, with a slash before and none behind (`--api-prefix`); empty: nothing. */
  readonly prefix: string;
  readonly connections: ChildConnections;
  readonly conversations: Conversations;
  readonly held: HeldBodies;
  readonly metrics: Metrics;
}

/** Answers one request. What it throws becomes an error response. */
export type Handler = (exchange: Exchange, context: RouterContext) => void | Promise<void>;
