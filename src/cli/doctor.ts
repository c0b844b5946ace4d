import { describeParentDeath, hasParentDeath } from '../../native/parent-death.js';
import { pathsFor } from '../supervisor/paths.js';
import { lookAtDevices } from './doctor/devices.js';
import { lookAtEngines } from './doctor/engines.js';
import { canServe, describeFindings, type Finding } from './doctor/finding.js';
import { lookAtDirectories } from './doctor/places.js';
import { lookAtPort } from './doctor/port.js';
import { judgeServing } from './doctor/serving.js';
import { lookAtTerminal } from './doctor/terminal.js';
import { UsageError } from './usage-error.js';
import { VERSION } from './version.js';

export interface DoctorFlags {
  readonly host: string;
  readonly port: string;
  readonly stateDir: string | null;
  readonly llamaServer: string | null;
  readonly json: boolean;
}

/**
 * `llm-tui doctor`: what is there to serve models with, what is missing or cannot be known, and what to do about it.
 * Changes nothing. Exit code 1 when models cannot be served like this where the engine puts them by itself.
 */
export async function doctorCommand(flags: DoctorFlags): Promise<void> {
  const port = Number(flags.port);
  if (!/^\d+$/u.test(flags.port) || port > 65_535) {
    throw new UsageError(`--port takes a whole number from 0 to 65535, not '${flags.port}'.`);
  }
  const paths = pathsFor(flags.stateDir);
  const [engines, places, listening] = await Promise.all([
    lookAtEngines(flags.llamaServer),
    lookAtDirectories(paths),
    lookAtPort(flags.host, port, paths),
  ]);
  const { findings: devicesFound, devices, failures } = await lookAtDevices(engines.devices);
  const read = devices.flatMap(({ name, kind }) => (kind === 'host' ? [] : [name]));
  const serving = judgeServing(engines.chosen, { read, failures });
  const findings = [
    ...engines.findings,
    ...devicesFound,
    ...(serving === null ? [] : [serving]),
    listening,
    ...places,
    ...lookAtTerminal(process.stdout, process.env),
    ...lookAtProgram(),
  ];
  const ok = canServe(findings);
  process.stdout.write(
    flags.json
      ? `${JSON.stringify({ schema: 1, version: VERSION, ok, findings, devices }, null, 2)}\n`
      : describeFindings(findings),
  );
  process.exitCode = ok ? 0 : 1;
}

function lookAtProgram(): readonly Finding[] {
  const fix = process.platform === 'linux' ? 'install util-linux (setpriv)' : null;
  return [
    {
      area: 'program',
      level: 'ok',
      name: 'version',
      text: `llm-tui ${VERSION} on Node ${process.versions.node} (${process.platform} ${process.arch})`,
      fix: null,
    },
    hasParentDeath()
      ? { area: 'program', level: 'ok', name: 'children', text: describeParentDeath(), fix: null }
      : { area: 'program', level: 'warn', name: 'children', text: describeParentDeath(), fix },
  ];
}
