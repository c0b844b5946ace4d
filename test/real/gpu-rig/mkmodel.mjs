// Writes a llama-architecture GGUF with random weights, big enough to matter, fast to run:
//   node mkmodel.mjs OUT.gguf MiB [--ctx 4096] [--embd 512] [--seed 1]
// The feed-forward width is chosen so that the layers' f16 weights come to about MiB.
// Byte tokens get zero logits, so that what it says is always valid UTF-8.
import fs from 'node:fs';

const args = process.argv.slice(2);
const opt = (k, d) => {
  const i = args.indexOf('--' + k);
  return i < 0 ? d : Number(args.splice(i, 2)[1]);
};
const ctx = opt('ctx', 4096),
  embd = opt('embd', 512),
  seed = opt('seed', 1);
const [out, mib] = args;
if (!out || !(Number(mib) > 0)) {
  console.error('node mkmodel.mjs OUT.gguf MiB [--ctx N] [--embd N] [--seed N]');
  process.exit(1);
}

const heads = 8,
  kvHeads = 4,
  headDim = embd / heads,
  layers = 8;
const perLayer = (Number(mib) * 2 ** 20) / 2 / layers - (2 * embd * embd + 2 * embd * headDim * kvHeads);
const ff = Math.max(32, Math.round(perLayer / (3 * embd) / 32) * 32);

// ---- vocabulary: SPM with byte fallback -------------------------------------
const vocab = [
  ['<unk>', 2],
  ['<s>', 3],
  ['</s>', 3],
];
for (let i = 0; i < 256; i++) vocab.push([`<0x${i.toString(16).toUpperCase().padStart(2, '0')}>`, 6]);
const firstWord = vocab.length;
for (const w of 'the a gpu memory model load free held used card router waits for one more byte of heap and then it runs'.split(
  ' ',
))
  if (!vocab.some((v) => v[0] === '▁' + w)) vocab.push(['▁' + w, 1]);
for (const c of 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,!?:\'"-▁') vocab.push([c, 1]);

// ---- GGUF ---------------------------------------------------------------------
const le = (n, f) => {
  const b = Buffer.alloc(n);
  f(b);
  return b;
};
const u32 = (v) => le(4, (b) => b.writeUInt32LE(v)),
  u64 = (v) => le(8, (b) => b.writeBigUInt64LE(BigInt(v)));
const f32 = (v) => le(4, (b) => b.writeFloatLE(v)),
  str = (s) => Buffer.concat([u64(Buffer.byteLength(s)), Buffer.from(s)]);
const enc = { 4: u32, 5: u32, 6: f32, 8: str };
const meta = [];
const kv = (k, t, v) => meta.push(Buffer.concat([str(k), u32(t), enc[t](v)]));
const kva = (k, t, a) => meta.push(Buffer.concat([str(k), u32(9), u32(t), u64(a.length), ...a.map(enc[t])]));
kv('general.architecture', 8, 'llama');
kv('general.name', 8, `rig-${mib}`);
kv('general.file_type', 4, 1);
kv('llama.context_length', 4, ctx);
kv('llama.embedding_length', 4, embd);
kv('llama.block_count', 4, layers);
kv('llama.feed_forward_length', 4, ff);
kv('llama.attention.head_count', 4, heads);
kv('llama.attention.head_count_kv', 4, kvHeads);
kv('llama.attention.layer_norm_rms_epsilon', 6, 1e-5);
kv('llama.rope.dimension_count', 4, headDim);
kv('llama.vocab_size', 4, vocab.length);
kv('tokenizer.ggml.model', 8, 'llama');
kva(
  'tokenizer.ggml.tokens',
  8,
  vocab.map((v) => v[0]),
);
kva(
  'tokenizer.ggml.scores',
  6,
  vocab.map((v, i) => -i),
);
kva(
  'tokenizer.ggml.token_type',
  5,
  vocab.map((v) => v[1]),
);
kv('tokenizer.ggml.bos_token_id', 4, 1);
kv('tokenizer.ggml.eos_token_id', 4, 2);
kv('tokenizer.ggml.unknown_token_id', 4, 0);
kv('tokenizer.chat_template', 8, '{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:');

const F32 = 0,
  F16 = 1,
  tensors = [];
const t = (name, dims, type) =>
  tensors.push({ name, dims, type, bytes: dims.reduce((a, b) => a * b) * (type === F16 ? 2 : 4) });
t('token_embd.weight', [embd, vocab.length], F16);
t('output_norm.weight', [embd], F32);
t('output.weight', [embd, vocab.length], F16);
for (let l = 0; l < layers; l++) {
  const p = `blk.${l}.`;
  t(p + 'attn_norm.weight', [embd], F32);
  t(p + 'ffn_norm.weight', [embd], F32);
  t(p + 'attn_q.weight', [embd, embd], F16);
  t(p + 'attn_k.weight', [embd, headDim * kvHeads], F16);
  t(p + 'attn_v.weight', [embd, headDim * kvHeads], F16);
  t(p + 'attn_output.weight', [embd, embd], F16);
  t(p + 'ffn_gate.weight', [embd, ff], F16);
  t(p + 'ffn_up.weight', [embd, ff], F16);
  t(p + 'ffn_down.weight', [ff, embd], F16);
}
const pad = (n) => Math.ceil(n / 32) * 32;
let at = 0;
const infos = tensors.map((x) => {
  const b = Buffer.concat([str(x.name), u32(x.dims.length), ...x.dims.map(u64), u32(x.type), u64(at)]);
  at += pad(x.bytes);
  return b;
});
const head = Buffer.concat([Buffer.from('GGUF'), u32(3), u64(tensors.length), u64(meta.length), ...meta, ...infos]);

// ---- weights: one megabyte of small f16 numbers, repeated ---------------------
let s = (seed * 2654435761) >>> 0 || 1;
const rnd = () => {
  s ^= s << 13;
  s >>>= 0;
  s ^= s >>> 17;
  s ^= s << 5;
  return (s >>>= 0);
};
const block = (exp) =>
  le(1 << 20, (b) => {
    for (let i = 0; i < b.length; i += 2) {
      const r = rnd();
      b.writeUInt16LE(((r & 1) << 15) | ((exp + ((r >>> 1) % 3)) << 10) | ((r >>> 8) & 1023), i);
    }
  });
const small = block(7),
  large = block(11),
  fd = fs.openSync(out, 'w');
const write = (b) => {
  for (let o = 0; o < b.length;) o += fs.writeSync(fd, b, o);
};
write(head);
write(Buffer.alloc(pad(head.length) - head.length));
for (const x of tensors) {
  if (x.type === F32)
    write(
      le(x.bytes, (b) => {
        for (let i = 0; i < x.bytes; i += 4) b.writeFloatLE(1, i);
      }),
    );
  else if (x.name === 'output.weight')
    write(Buffer.concat([Buffer.alloc(firstWord * embd * 2), large, large]).subarray(0, x.bytes));
  else for (let left = x.bytes; left > 0; left -= small.length) write(small.subarray(0, Math.min(left, small.length)));
  write(Buffer.alloc(pad(x.bytes) - x.bytes));
}
fs.closeSync(fd);
console.log(`${out}: ${(fs.statSync(out).size / 2 ** 20).toFixed(1)} MiB, ff ${ff}`);
