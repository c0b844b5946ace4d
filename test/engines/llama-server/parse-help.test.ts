import { describe, expect, it } from 'vitest';
import { parseBufferVerbosity, parseHelp } from '../../../src/engines/llama-server/parse-help.js';

const HELP = `ggml_cuda_init: found 1 CUDA devices
----- common params -----

-h,    --help, --usage                  print usage and exit
-c,    --ctx-size N                     size of the context -- of the prompt
                                        (env: LLAMA_ARG_CTX_SIZE)
-n,    --predict, --n-predict N         how many tokens
                                        -1 = infinity
                                        (env: LLAMA_ARG_N_PREDICT)
--cpu-strict <0|1>                      use strict placement (default: 0)
-kvo,  --kv-offload, -nkvo, --no-kv-offload
                                        whether to offload
                                        (env: LLAMA_ARG_KV_OFFLOAD)
-hf,   -hfr, --hf-repo <user>/<model>[:quant]
                                        the repository
                                        (env: LLAMA_ARG_HF_REPO)
--no-host                               bypass the host buffer
                                        (env: LLAMA_ARG_NO_HOST)
--mmap, --no-mmap                       whether to map the file
--control-vector-layer-range START END  layers, both ends included


----- example-specific params -----

--metrics                               enable metrics
--gpt-oss-20b-default                   use a certain model
--spec-default                          enable speculation
`;

it('the table of options is read from a binary’s own help', () => {
  const allowed = { numbers: true, words: [] };
  expect(parseHelp(HELP)).toEqual([
    { name: 'ctx-size', aliases: ['c'], takesValue: true, negatable: false, env: 'LLAMA_ARG_CTX_SIZE', allowed },
    {
      name: 'n-predict',
      aliases: ['n', 'predict'],
      takesValue: true,
      negatable: false,
      env: 'LLAMA_ARG_N_PREDICT',
      allowed,
    },
    { name: 'cpu-strict', aliases: [], takesValue: true, negatable: false, env: null, allowed },
    {
      name: 'kv-offload',
      aliases: ['kvo'],
      takesValue: false,
      negatable: true,
      env: 'LLAMA_ARG_KV_OFFLOAD',
      negatedAliases: ['nkvo'],
    },
    { name: 'hf-repo', aliases: ['hf', 'hfr'], takesValue: true, negatable: false, env: 'LLAMA_ARG_HF_REPO' },
    { name: 'no-host', aliases: [], takesValue: false, negatable: false, env: 'LLAMA_ARG_NO_HOST' },
    { name: 'mmap', aliases: [], takesValue: false, negatable: true, env: null },
    { name: 'metrics', aliases: [], takesValue: false, negatable: false, env: null },
    { name: 'spec-default', aliases: [], takesValue: false, negatable: false, env: null },
  ]);
});

it.each([
  ['-ngl,  --n-gpu-layers N', "a number, 'auto', or 'all'", { numbers: true, words: ['auto', 'all'] }],
  ['-fa,   --flash-attn [on|off|auto]', 'set it', { numbers: false, words: ['on', 'off', 'auto'] }],
  ['--pooling {none,mean,cls}', 'pooling', { numbers: false, words: ['none', 'mean', 'cls'] }],
  ['-ctk,  --cache-type-k TYPE', 'type; allowed values: f16, q8_0', { numbers: false, words: ['f16', 'q8_0'] }],
  [
    '-lm,   --load-mode MODE',
    'how (default: auto) - mmap: map it - mmap+mlock: and keep it',
    { numbers: false, words: ['auto', 'mmap', 'mmap+mlock'] },
  ],
  ['--type TYPE', 'some type', undefined],
  ['-dt,   --defrag-thold N', 'threshold (DEPRECATED)', undefined],
  ['-m,    --model FNAME', 'path', undefined],
  ['-dev,  --device <dev1,dev2,..>', 'devices', undefined],
])('what an option takes is read with it: %s', (left, description, allowed) => {
  expect(parseHelp(left.padEnd(40) + description)[0]?.allowed).toEqual(allowed);
});

it('a text that is no help has no options', () => {
  expect(parseHelp('usage: ls [OPTION]...\n\nwarranty: none\n')).toEqual([]);
});

describe('the verbosity at which buffers are logged', () => {
  const help = (levels: string, usual: number): string =>
    [
      '-v,    --verbose, --log-verbose         Set verbosity level to infinity',
      '-lv,   --verbosity, --log-verbosity N   Set the verbosity threshold. Values:',
      levels,
      `                                        (default: ${usual})`,
      '                                        (env: LLAMA_ARG_LOG_VERBOSITY)',
      '--log-prefix, --no-log-prefix           Enable prefix (default: 9)',
    ].join('\n');
  const LEVELS =
    '                                         - 3: info\n                                         - 4: trace (more info)';

  it('is that of a trace, where it is not the usual one', () => {
    expect(parseBufferVerbosity(help(LEVELS, 3))).toBe(4);
    expect(parseBufferVerbosity(help(LEVELS, 4))).toBeNull();
  });

  it('is unknown to older builds, which log them anyway', () => {
    expect(parseBufferVerbosity(help('', 3))).toBeNull();
    expect(parseBufferVerbosity('')).toBeNull();
  });
});
