/**
 * The router's own: they would make a child ask for a key, speak TLS, answer under other paths, share a port that is
 * taken, run commands for its page, or believe that it is a router itself.
 */
const ROUTER_OWNED =
  /^(?:LLAMA_API_KEY|LLAMA_ARG_(?:API_KEY|API_KEY_FILE|API_PREFIX|STATIC_PATH|TOOLS(?:_RUNTIME)?|MCP_SERVERS_.*|AGENT|UI_MCP_PROXY|HOST|PORT|REUSE_PORT|ALIAS|SSL_.*|(?:NO_)?MODELS_.*)|LLAMA_SERVER(?:_.*)?|LLM_TUI_.*)$/i;

/**
 * The environment of a child: this process's, without what is the router's own, its devices numbered in bus
 * order (CUDA's own order is by speed), and told that it has a router. Builds look only whether they are told a port of
 * it, and never connect there; it is the child's own, so that nothing of ours is at stake if one does. Older builds know
 * no role, and serve unless `LLAMA_SERVER_CHILD_MODE` says something else, which is never passed on.
 * Source of the names: `llama-server --help` and its router's protocol, builds of 2026.
 */
export function childEnvironment(
  base: Readonly<Record<string, string | undefined>>,
  role: { readonly port: number; readonly childRole: string },
): Record<string, string> {
  const kept = Object.entries(base).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !ROUTER_OWNED.test(entry[0]),
  );
  return {
    ...Object.fromEntries(kept),
    CUDA_DEVICE_ORDER: 'PCI_BUS_ID',
    LLAMA_SERVER_ROUTER_PORT: String(role.port),
    LLAMA_SERVER_CHILD_ROLE: role.childRole,
  };
}
