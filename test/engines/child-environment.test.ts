import { describe, expect, it } from 'vitest';
import { childEnvironment } from '../../src/engines/child-environment.js';

const made = (base: Record<string, string | undefined>): Record<string, string> =>
  childEnvironment(base, { port: 4711, childRole: 'instance' });

describe('the environment of a child', () => {
  it.each([
    'LLAMA_API_KEY',
    'llama_api_key',
    'LLAMA_ARG_API_KEY',
    'LLAMA_ARG_API_KEY_FILE',
    'LLAMA_ARG_SSL_KEY_FILE',
    'LLAMA_ARG_API_PREFIX',
    'LLAMA_ARG_REUSE_PORT',
    'LLAMA_ARG_HOST',
    'LLAMA_ARG_PORT',
    'LLAMA_ARG_ALIAS',
    'LLAMA_ARG_MODELS_DIR',
    'LLAMA_ARG_NO_MODELS_AUTOLOAD',
    'LLAMA_SERVER',
    'LLAMA_SERVER_CHILD_MODE',
    'LLM_TUI_LAUNCHED',
    'LLM_TUI_ANYTHING',
  ])('has nothing of the router: not %s', (name) => {
    expect(JSON.stringify(made({ [name]: 'a secret' }))).not.toContain('a secret');
  });

  it('has what the user set for models, and what a download needs', () => {
    const kept = { PATH: '/bin', LLAMA_ARG_CTX_SIZE: '4096', CUDA_VISIBLE_DEVICES: '1', HF_TOKEN: 'hf', GGML_X: '' };
    expect(made({ ...kept, UNSET: undefined })).toEqual({
      ...kept,
      CUDA_DEVICE_ORDER: 'PCI_BUS_ID',
      LLAMA_SERVER_ROUTER_PORT: '4711',
      LLAMA_SERVER_CHILD_ROLE: 'instance',
    });
  });

  it('numbers devices in bus order, whatever the user had set', () => {
    expect(made({ CUDA_DEVICE_ORDER: 'FASTEST_FIRST' })['CUDA_DEVICE_ORDER']).toBe('PCI_BUS_ID');
  });
});
