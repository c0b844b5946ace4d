import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { buildEntry } from '../catalog/build-entry.js';
import { commandLineSettings } from '../catalog/command-line-settings.js';
import type { CatalogEntry } from '../catalog/entry.js';
import { ggufHeaders } from '../catalog/gguf-header.js';
import { supervisorHttp } from '../client/supervisor-http.js';
import { createProbes } from '../devices/combined-probe.js';
import { chooseEngine, type ChosenEngine } from '../engines/choose-engine.js';
import type { Engine } from '../engines/engine.js';
import { freePort } from '../engines/free-port.js';
import type { ChildMemory } from '../engines/messages.js';
import { devicesToMeasureOn } from '../measurements/placements.js';
import type { DeviceReading } from '../scheduler/events.js';
import type { DeviceBytes } from '../scheduler/units.js';
import { pathsFor } from '../supervisor/paths.js';
import { runMeasurement } from '../supervisor/run-measurement.js';
import { childFlags } from './child-flags.js';
import { targetFor, type ClientFlags } from './client-flags.js';
import { describeMeasured } from './measure-table.js';
import { probesFor } from './probes-for.js';
import { measuredBySupervisor } from './wait-for-measuring.js';
import { FailureShown, UsageError } from './usage-error.js';
import { isWantOfMemory, sayWhoHolds } from './who-holds.js';

export interface MeasureFlags extends ClientFlags {
  readonly engine: ChosenEngine['engine']['name'] | 'auto';
  readonly llamaServer: string | null;
  readonly json: boolean;
}

/** What one model needs, or why that is not known. */
export interface Measured {
  readonly model: string;
  readonly file: string | null;
  readonly status: 'measured' | 'failed' | 'unmeasured' | 'measuring';
  /** Why it could not be measured; null when it was. */
  readonly error: string | null;
  readonly min: ChildMemory | null;
  readonly max: ChildMemory | null;
  readonly estimate: DeviceBytes | null;
}

/**
 * `llm-tui measure MODEL|FILE…`: what models need, without loading them. Files are measured here and now; names are
 * models of a running supervisor, which measures them again. Throws FailureShown when one could not be measured.
 * @param words names, paths, and options for the children that measure files
 */
export async function measureCommand(words: readonly string[], flags: MeasureFlags): Promise<void> {
  const firstOption = words.findIndex((word) => /^--?[A-Za-z]/u.test(word));
  const [names, options] = firstOption < 0 ? [words, []] : [words.slice(0, firstOption), words.slice(firstOption)];
  if (names.length === 0) throw new UsageError('measure needs a model, or the path of a GGUF file.');
  const found = await Promise.all(names.map(async (name) => ({ name, isFile: await isFile(name) })));
  const files = found.filter((one) => one.isFile).map(({ name }) => resolve(name));
  if (files.length === 0 && options.length > 0) {
    throw new UsageError(`${options[0] ?? ''} goes with files only; a model is measured as its preset says.`);
  }
  const measured = [
    ...(files.length === 0 ? [] : await measureFiles(files, options, flags)),
    ...(await measureModels(
      found.filter((one) => !one.isFile).map(({ name }) => name),
      flags,
    )),
  ];
  process.stdout.write(
    flags.json ? `${JSON.stringify({ schema: 1, models: measured }, null, 2)}\n` : describeMeasured(measured),
  );
  const failed = measured.find(({ status }) => status !== 'measured');
  if (failed !== undefined)
    throw new FailureShown(`${failed.model} could not be measured: ${failed.error ?? 'no reason is known'}`);
}

async function isFile(name: string): Promise<boolean> {
  const stats = await stat(name).catch(() => null);
  if (stats?.isFile() === true) return true;
  if (name.endsWith('.gguf') && name.includes('/')) throw new UsageError(`There is no file ${name}.`);
  return false;
}

async function measureFiles(
  files: readonly string[],
  options: readonly string[],
  { engine: wanted, llamaServer, stateDir }: MeasureFlags,
): Promise<readonly Measured[]> {
  const paths = pathsFor(stateDir);
  let chosen: ChosenEngine;
  try {
    chosen = await chooseEngine({
      engine: wanted,
      llamaServer,
      simDevices: null,
      simLedgerDirectory: paths.simulation,
    });
  } catch (cause) {
    throw new UsageError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
  const { engine } = chosen;
  const given = commandLineSettings(childFlags(options, engine.options, engine.name), engine.options);
  const probes = createProbes(probesFor(chosen, paths));
  try {
    const { devices } = (await probes.sample([])).sample;
    const measured: Measured[] = [];
    for (const file of files) {
      const draft = {
        id: basename(file, '.gguf'),
        source: { kind: 'directory', path: file, line: null },
        found: null,
        settings: { options: new Map([['model', file], ...given.settings.options]) },
      } as const;
      const context = { options: engine.options, needsModelFile: true, defaults: { stopTimeoutMillis: 0 } };
      const entry = await buildEntry(draft, { ...context, headers: ggufHeaders });
      const one = await measureEntry(engine, entry, file, devices);
      const holders = one.error !== null && isWantOfMemory(one.error) ? await sayWhoHolds(paths, probes) : '';
      measured.push(holders === '' ? one : { ...one, error: `${one.error ?? ''}; ${holders}` });
    }
    return measured;
  } finally {
    probes.close();
  }
}

async function measureEntry(
  engine: Engine,
  entry: CatalogEntry,
  file: string,
  devices: readonly DeviceReading[],
): Promise<Measured> {
  const placements = engine.estimate(entry, devices);
  const about = { model: entry.id, file, min: null, max: null, estimate: placements[0]?.need ?? null };
  if (entry.invalid !== null) return { ...about, status: 'failed', error: entry.invalid };
  const measurement = engine.capabilities().measure
    ? engine.measure?.({ entry, devices: devicesToMeasureOn(placements, devices), port: await freePort() })
    : undefined;
  if (measurement === undefined)
    return { ...about, status: 'failed', error: `the engine ${engine.name} cannot measure` };
  const ending = new AbortController();
  const stop = (): void => ending.abort();
  // A launcher passes on the Ctrl-C that a terminal has sent here too.
  process.on('SIGINT', stop).on('SIGTERM', stop);
  const result = await runMeasurement(measurement, ending.signal);
  process.off('SIGINT', stop).off('SIGTERM', stop);
  if (result.result === 'failed') return { ...about, status: 'failed', error: result.error };
  return { ...about, status: 'measured', error: null, min: result.min, max: result.max };
}

async function measureModels(names: readonly string[], flags: ClientFlags): Promise<readonly Measured[]> {
  const measured: Measured[] = [];
  for (const name of names) {
    const { id, error } = await measuredBySupervisor(name, flags);
    const http = supervisorHttp(await targetFor(flags));
    try {
      const listed = (await http.json('GET', `v1/models/${encodeURIComponent(id)}`)) as {
        memory: Pick<Measured, 'status' | 'min' | 'max' | 'estimate'>;
      };
      const { status, min, max, estimate } = listed.memory;
      measured.push({ model: id, file: null, status, error, min, max, estimate });
    } finally {
      http.close();
    }
  }
  return measured;
}
