import type { Handler } from './context.js';
import { sendError, sendJson } from './respond.js';

/** A scheduler that has had an event in its inbox for this long is stuck. */
const STUCK_MILLIS = 5_000;

/** `GET /health`: whether the router and its scheduler work; nothing about any model. */
export const health: Handler = ({ response }, { supervisor }) => {
  if (!supervisor.isStarted) {
    return sendError(response, { status: 503, code: 'starting', message: 'the supervisor is starting' });
  }
  if (supervisor.busyMillis() < STUCK_MILLIS) return sendJson(response, 200, { status: 'ok' });
  const message = 'the scheduler has not come to the end of a turn for 5 s';
  sendError(response, { status: 503, code: 'scheduler_stuck', message });
};

/** `GET /props` without a model: what llama-server's router says, for its web page and clients. */
export const props: Handler = ({ response }, { supervisor, autoload, uiSettings }) => {
  sendJson(response, 200, {
    role: 'router',
    max_instances: supervisor.modelsMax,
    models_autoload: autoload,
    model_alias: 'llama-server',
    model_path: 'none',
    default_generation_settings: { params: null, n_ctx: 0 },
    ui_settings: uiSettings,
    build_info: `llm-tui ${supervisor.info.version}`,
    cors_proxy_enabled: false,
  });
};

/** What llama-server answers where a feature is switched off. */
export const disabled: Handler = ({ response }) =>
  sendError(response, { status: 403, code: 'feature_disabled', message: 'this feature is disabled' });
