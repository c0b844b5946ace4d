import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commandLineSettings } from '../../src/catalog/command-line-settings.js';
import { findOption } from '../../src/catalog/option-table.js';
import { childFlags } from '../../src/cli/child-flags.js';
import { describeProgram } from '../../src/cli/program.js';
import { parseHelp } from '../../src/engines/llama-server/parse-help.js';
import { childEnvironment } from '../../src/engines/child-environment.js';

/** What `llama-server --help` of a build of November 2026 lists: spellings, values and variables, without descriptions. */
const HELP = readFileSync(resolve(import.meta.dirname, '../fixtures/llama-server/help-flags.txt'), 'utf8');
const TABLE = parseHelp(HELP);

/** Every spelling with whether something follows it. */
const SPELLINGS = HELP.split('\n')
  .filter((line) => line.startsWith('-'))
  .flatMap((line) => {
    const [spelled = ''] = /^(?:-{1,2}[A-Za-z][\w.-]*(?:\s*,\s*(?=-))?)+/u.exec(line) ?? [];
    const takesValue = line.slice(spelled.length).trim() !== '';
    return spelled.split(/\s*,\s*/u).map((flag) => [flag.trim(), takesValue] as const);
  });

const OURS = describeProgram().commands.find((command) => command.name() === 'serve')?.options ?? [];
const OUR_WORDS = { flags: OURS.map(({ long }) => long?.replace(/^--/u, '') ?? ''), commands: [] };

type Fate = 'the router' | 'every model' | 'refused' | 'ignored, and said so' | 'DROPPED';

function fateOf(flag: string, takesValue: boolean): Fate {
  if (OURS.some(({ long, short }) => long === flag || short === flag)) return 'the router';
  try {
    const word = findOption(TABLE, flag.replace(/^--?/u, ''))?.spec.allowed?.words[0] ?? '1';
    const given = childFlags([flag, ...(takesValue ? [word] : [])], TABLE, 'llama-server', OUR_WORDS);
    const { settings, notices } = commandLineSettings(given, TABLE);
    if (settings.options.size > 0) return 'every model';
    return notices.some(({ message }) => message.includes('is ignored')) ? 'ignored, and said so' : 'DROPPED';
  } catch (error) {
    expect(String(error)).toContain(flag);
    return 'refused';
  }
}

const fates = new Map(SPELLINGS.map(([flag, takesValue]) => [flag, fateOf(flag, takesValue)]));
const withFate = (wanted: Fate): readonly string[] =>
  [...fates].filter(([, fate]) => fate === wanted).map(([flag]) => flag);

describe("every flag of llama-server's", () => {
  it('is listed here', () => {
    expect(fates.size).toBeGreaterThan(300);
  });

  it('has a meaning, or is answered with a sentence', () => {
    expect(withFate('DROPPED')).toEqual([]);
  });

  it('that is about listening, clients and models is the router’s', () => {
    expect(withFate('the router').toSorted()).toEqual([
      ...['--api-key', '--api-key-file', '--api-prefix', '--cors-credentials', '--cors-headers', '--cors-methods'],
      ...['--cors-origins', '--host', '--models-autoload', '--models-dir', '--models-max', '--models-preset'],
      ...['--no-cors-credentials', '--no-models-autoload', '--path', '--port', '--reuse-port', '--ssl-cert-file'],
      ...['--ssl-key-file', '--timeout'],
    ]);
  });

  it('that makes no sense for all models, or not here, is ignored with a notice', () => {
    expect(withFate('ignored, and said so').toSorted()).toEqual(
      [
        ...['-a', '--alias', '--tags', '-m', '--model', '-mm', '--mmproj', '-hf', '-hfr', '--hf-repo'],
        ...['--tools', '--tools-runtime', '--mcp-servers-config', '--mcp-servers-json'],
        ...['-ag', '--agent', '-no-ag', '--no-agent'],
        ...['--ui-mcp-proxy', '--webui-mcp-proxy', '--no-ui-mcp-proxy', '--no-webui-mcp-proxy'],
      ].toSorted(),
    );
  });

  it('that prints something and exits, stands for one model, or takes two values is refused', () => {
    const refused = withFate('refused');
    for (const flag of ['--list-devices', '--cache-list', '--completion-bash', '-to']) expect(refused).toContain(flag);
    const others = refused.filter((flag) => !/-default$/u.test(flag));
    expect(others.toSorted()).toMatchInlineSnapshot(`
      [
        "--cache-list",
        "--completion-bash",
        "--control-vector-layer-range",
        "--help",
        "--list-devices",
        "--usage",
        "--version",
        "-cl",
        "-h",
        "-to",
      ]
    `);
  });

  it('that is a variable and the router’s does not reach a model', () => {
    const variables = [...HELP.matchAll(/\(env: (\w+)\)/gu)].map(([, name = '']) => name);
    const environment = Object.fromEntries(variables.map((name) => [name, '1']));
    const passed = childEnvironment(environment, { port: 1, childRole: 'instance' });
    expect(variables.filter((name) => passed[name] === undefined).toSorted()).toMatchInlineSnapshot(`
      [
        "LLAMA_API_KEY",
        "LLAMA_ARG_AGENT",
        "LLAMA_ARG_ALIAS",
        "LLAMA_ARG_API_KEY_FILE",
        "LLAMA_ARG_API_PREFIX",
        "LLAMA_ARG_HOST",
        "LLAMA_ARG_MCP_SERVERS_CONFIG",
        "LLAMA_ARG_MCP_SERVERS_JSON",
        "LLAMA_ARG_MODELS_AUTOLOAD",
        "LLAMA_ARG_MODELS_DIR",
        "LLAMA_ARG_MODELS_MAX",
        "LLAMA_ARG_MODELS_PRESET",
        "LLAMA_ARG_PORT",
        "LLAMA_ARG_REUSE_PORT",
        "LLAMA_ARG_SSL_CERT_FILE",
        "LLAMA_ARG_SSL_KEY_FILE",
        "LLAMA_ARG_STATIC_PATH",
        "LLAMA_ARG_TOOLS",
        "LLAMA_ARG_TOOLS_RUNTIME",
        "LLAMA_ARG_UI_MCP_PROXY",
      ]
    `);
  });
});
