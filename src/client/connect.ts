import { connectRouter } from './router-client.js';
import { connectSupervisor } from './supervisor-client.js';
import { failureSentence, supervisorHttp, SupervisorRefusal, type SupervisorTarget } from './supervisor-http.js';
import type { SupervisorClient } from './types.js';

/**
 * A client of whatever answers there: a supervisor, or the router of a llama-server. Throws an Error with one sentence
 * where nothing answers, or something else does.
 */
export async function connect(target: SupervisorTarget): Promise<SupervisorClient> {
  if (!('url' in target)) return connectSupervisor(target);
  const http = supervisorHttp(target);
  try {
    await http.json('GET', 'supervisor/state');
    return connectSupervisor(target);
  } catch (error) {
    if (!(error instanceof SupervisorRefusal) || error.status !== 404) {
      throw new Error(failureSentence(http.name, error), { cause: error });
    }
    if ((await roleOf(http.json('GET', 'props'))) === 'router') return connectRouter(target);
    throw new Error(
      `${target.url} is neither an llm-tui supervisor nor a llama-server router (one started without --model).`,
      {
        cause: error,
      },
    );
  } finally {
    http.close();
  }
}

async function roleOf(props: Promise<unknown>): Promise<unknown> {
  try {
    const said = await props;
    return typeof said === 'object' && said !== null && 'role' in said ? said.role : null;
  } catch {
    return null;
  }
}
