import { Option, type Command } from 'commander';
import { DEFAULT_CORS } from '../router/cors.js';

/** Headings of the help, with the flags below each. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  'Models:': [
    '--models-dir',
    '--models-preset',
    '--sample-models',
    '--watch',
    '--models-max',
    '--models-autoload',
    '--no-models-autoload',
    '--idle-timeout',
  ],
  'Listening:': [
    ...['--host', '--port', '--reuse-port', '--api-key', '--api-key-file', '--ssl-key-file', '--ssl-cert-file'],
    ...['--api-prefix', '--path', '--max-body'],
  ],
  'Memory and waiting:': [
    '--models-memory-margin',
    '--host-memory-margin',
    '--policy',
    '--admission',
    '--min-residency',
    '--max-wait',
    '--queue-timeout',
    '--queue-max',
  ],
  'Engine:': ['--load-timeout', '--hang-timeout', '--kill-hung', '--engine', '--llama-server', '--sim-devices'],
  'This supervisor:': ['--state-dir', '--no-journal', '--journal-size', '--on-close'],
};

function groupOf(flag: string): string {
  return Object.keys(GROUPS).find((heading) => GROUPS[heading]?.includes(flag)) ?? 'Options:';
}

/** Adds the flags of the router, with llama-server's names and variables where it has them. */
export function addServeFlags(command: Command): Command {
  const flag = (flags: string, description: string, variable?: string): Option => {
    const option = new Option(flags, description);
    return variable === undefined ? option : option.env(variable);
  };
  const options = [
    flag('--models-dir <dir>', 'directory with GGUF models', 'LLAMA_ARG_MODELS_DIR'),
    flag('--models-preset <file>', 'INI file with models and their options', 'LLAMA_ARG_MODELS_PRESET'),
    flag('--sample-models', 'write three small random-weight models and serve them'),
    flag('--host <address>', 'address to listen on', 'LLAMA_ARG_HOST').default('127.0.0.1'),
    flag('--port <port>', 'port to listen on; 0 picks a free one', 'LLAMA_ARG_PORT').default('8080'),
    flag('--api-key <keys>', 'keys that clients need, separated by commas', 'LLAMA_API_KEY'),
    flag('--api-key-file <file>', 'file with one key a line', 'LLAMA_ARG_API_KEY_FILE'),
    flag('--reuse-port', 'share the port with others who say the same'),
    flag('--ssl-key-file <file>', 'private key (PEM), to speak TLS', 'LLAMA_ARG_SSL_KEY_FILE'),
    flag('--ssl-cert-file <file>', 'its certificate (PEM)', 'LLAMA_ARG_SSL_CERT_FILE'),
    flag('--api-prefix <path>', 'what stands before every path, e.g. /llm', 'LLAMA_ARG_API_PREFIX'),
    flag('--path <dir>', 'files of a page, which is served beside the API', 'LLAMA_ARG_STATIC_PATH'),
    flag(
      '--models-max <n>',
      'models loaded at the same time at most; 0: memory alone decides',
      'LLAMA_ARG_MODELS_MAX',
    ).default('0'),
    flag(
      '--models-memory-margin <MiB>',
      'memory kept free on each device; 0: memory never limits',
      'LLAMA_ARG_MODELS_MEMORY_MARGIN',
    ).default('1024'),
    flag(
      '--host-memory-margin <MiB>',
      'the same for system memory (default: 1024 where there is no other device, else 0)',
    ),
    flag('--models-autoload', 'requests load models (the default)'),
    flag('--no-models-autoload', 'requests never load models, unless they say autoload=true'),
    flag('--engine <name>', 'how models are run').choices(['auto', 'llama-server', 'embedded', 'sim']).default('auto'),
    flag('--llama-server <path>', 'the llama-server to run models with', 'LLAMA_SERVER'),
    flag('--sim-devices <list>', 'devices of the sim engine, e.g. CUDA0=24GiB,CUDA1=24GiB'),
    flag('--max-wait <seconds>', 'after this long a waiting model makes a busy one take no new requests').default('30'),
    flag('--policy <name>', 'who leaves first').choices(['lru', 'lru-any-device', 'cost']).default('lru'),
    flag('--admission <mode>', 'what becomes of a model that would have to wait')
      .choices(['wait', 'refuse', 'proceed'])
      .default('wait'),
    flag('--min-residency <seconds>', 'a model that has been up for less is not evicted').default('0'),
    flag(
      '--idle-timeout <seconds>',
      'a model without requests for so long is unloaded, unless its preset says otherwise; 0: never',
    ).default('0'),
    flag('--watch', 'read the models again when the preset file or the models directory changes'),
    flag('--queue-timeout <seconds>', 'a request waits for so long at most; 0: no limit').default('0'),
    flag('--queue-max <n>', 'requests that may wait at the same time; 0: no limit').default('256'),
    flag('--load-timeout <seconds>', 'a load that gives no sign of life for so long is stopped; 0: no limit').default(
      '300',
    ),
    flag(
      '--hang-timeout <seconds>',
      'a model that has work and gives no sign of life for so long is reported; 0: never',
    ).default('120'),
    flag('--kill-hung', 'and killed'),
    flag(
      '--timeout <seconds>',
      'a model that says nothing for so long fails its request; 0: no limit',
      'LLAMA_ARG_TIMEOUT',
    ).default('0'),
    flag(
      '--cors-origins <origins>',
      'pages that may call: *, localhost, or an origin',
      'LLAMA_ARG_CORS_ORIGINS',
    ).default(DEFAULT_CORS.origins),
    flag('--cors-methods <methods>', 'methods that they may use', 'LLAMA_ARG_CORS_METHODS').default(
      DEFAULT_CORS.methods,
    ),
    flag('--cors-headers <headers>', 'headers that they may send', 'LLAMA_ARG_CORS_HEADERS').default(
      DEFAULT_CORS.headers,
    ),
    flag('--cors-credentials', 'they may send credentials (the default)'),
    flag('--no-cors-credentials', 'they may not'),
    flag('--log-requests [file]', 'one line of JSON for each request, without bodies and keys'),
    flag('--max-body <MiB>', 'largest request body; 0: no limit').default('64'),
    flag('--state-dir <dir>', 'where pins, logs, journal and sample models are kept'),
    flag('--no-journal', 'do not record what the scheduler is told and decides; see llm-tui replay'),
    flag('--journal-size <MiB>', 'all files of the journal together at most; 0: none').default('32'),
    flag('--on-close <what>', 'when a screen that started the supervisor vanishes')
      .choices(['stop', 'detach'])
      .default('stop'),
    flag('--owned', 'stop when the screen that started this has gone').hideHelp(),
  ];
  for (const option of options) command.addOption(option.helpGroup(groupOf(option.long ?? '')));
  return command;
}
