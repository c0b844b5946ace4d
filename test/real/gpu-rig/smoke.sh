#!/bin/bash
# Proves the rig with the real llama-server in router mode:  smoke.sh PREFIX
# Exit 0 when every check passed.  Needs curl, node.  About 20 s.
set -u
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PREFIX=${1:?usage: smoke.sh PREFIX}
[ -x "$PREFIX/bin/llama-server" ] || { echo "run build.sh $PREFIX first" >&2; exit 1; }
T=$(mktemp -d "${TMPDIR:-/var/tmp}/rig-smoke.XXXXXX")
export EMU_LEDGER=$(mktemp -u /dev/shm/emu-smoke.XXXXXX) EMU_GPUS=600,600 EMU_TRACE=$T/trace.jsonl
eval "$("$PREFIX/bin/emu-env")"
unset CUDA_VISIBLE_DEVICES EMU_FAULT EMU_FAIL_NEXT EMU_RELEASE_MS EMU_CTX_MIB EMU_POOL_MIB EMU_GRAN_KIB
PORT=$((20000 + RANDOM % 20000)); U=http://127.0.0.1:$PORT
PIDS=()
FAILED=0
cleanup() {
    for p in "${PIDS[@]:-}"; do [ -n "$p" ] && kill "$p" 2>/dev/null; done
    wait 2>/dev/null
    rm -f "$EMU_LEDGER" "$EMU_LEDGER.fault"
    if [ $FAILED = 0 ]; then rm -rf "$T"; else echo "logs kept: $T"; fi
}
trap cleanup EXIT
ok()   { printf 'PASS  %s\n' "$*"; }
bad()  { printf 'FAIL  %s\n' "$*"; FAILED=1; }
check() { local what=$1; shift; if "$@"; then ok "$what"; else bad "$what"; fi; }
js()   { node -e 'let s="";process.stdin.on("data",d=>s+=d).on("end",()=>{const j=JSON.parse(s);const r=eval(process.argv[1]);console.log(typeof r==="string"?r:JSON.stringify(r))})' "$1"; }
used() { emu-ctl show | js "j.gpus[$1].used_mib"; }
status() { curl -s $U/models | js "(m=>m?m.status.value+(m.status.exit_code!==undefined?' exit_code='+m.status.exit_code:''):'none')(j.data.find(m=>m.id==='$1'))"; }
post()  { curl -s -X POST -H 'content-type: application/json' "$U$1" -d "$2"; }
until_() { local n=$1; shift; for _ in $(seq "$n"); do "$@" && return 0; sleep 0.1; done; return 1; }
near() { awk -v a="$1" -v b="$2" -v d="$3" 'BEGIN{exit !(a-b<=d && b-a<=d)}'; }

mkdir -p "$T/models"
node "$HERE/mkmodel.mjs" "$T/models/a.gguf" 150 --seed 1 >/dev/null
node "$HERE/mkmodel.mjs" "$T/models/b.gguf" 150 --seed 2 >/dev/null
echo "2 GPUs of 600 MiB, CUDA context 200 MiB, models a and b of 150 MiB; router: --models-max 4 -c 512 -ngl 99 --fit off --device CUDA0"

# ---- 1. the router itself --------------------------------------------------
llama-server --models-dir "$T/models" --models-max 4 -c 512 -np 1 -ngl 99 --fit off --device CUDA0 -lv 4 --port $PORT >"$T/router.log" 2>&1 &
ROUTER=$!; PIDS+=($ROUTER)
until_ 100 curl -sf $U/health -o /dev/null || bad "router did not start"
check "router takes no GPU memory ($(used 0), $(used 1) MiB used)" [ "$(used 0)$(used 1)" = 00 ]

# ---- 2. one model ----------------------------------------------------------
post /models/load '{"model":"a"}' >/dev/null
isloaded() { [ "$(status "$1")" = loaded ]; }
until_ 200 isloaded a; check "a: $(status a)" isloaded a
grep -oE 'CUDA0[ _A-Za-z]* buffer size = +[0-9.]+ MiB' "$T/router.log" | sed 's/^/      log: /'
own=$(grep -oE 'CUDA0 [A-Za-z ]*buffer size = +[0-9.]+' "$T/router.log" | awk '{s+=$NF} END{printf "%.2f", s}')
A=$(pgrep -P $ROUTER -f 'alias a' | head -1)
led=$(emu-ctl show | js "j.gpus[0].procs.find(p=>p.pid===${A:-0})?.used_mib ?? -1")
check "child $A by its own log: $own + 200 context; ledger: $led MiB on GPU 0" near "$(awk "BEGIN{print $own+200}")" "$led" 0.2
nv=$(nvml-dump --check) && rc=0 || rc=$?
check "NVML ABI checks (rc $rc)" [ $rc = 0 ]
n=$(js "(j.gpus[0].procs.find(p=>p.pid===${A:-0})?.used ?? -1)/1048576" <<<"$nv")
check "NVML says $n MiB for $A" near "$n" "$led" 0.06
s=$(nvidia-smi --query-compute-apps=gpu_uuid,pid,used_memory --format=csv,noheader,nounits | awk -F', ' -v p="${A:-0}" '$2==p{print $3}' | head -1)
check "nvidia-smi says $s MiB for $A" near "${s:-0}" "$led" 0.6
say=$(post /v1/chat/completions '{"model":"a","messages":[{"role":"user","content":"hi"}],"max_tokens":12}' | js "j.choices?.[0]?.message?.content ?? JSON.stringify(j)")
check "a answers: \"$say\"" eval '[[ -n $say && $say != *error* ]]'

# ---- 3. the failure a router must avoid ------------------------------------
echo "      before b: GPU 0 used $(used 0) of 600, GPU 1 used $(used 1) of 600"
post /models/load '{"model":"b"}' >/dev/null
failed() { [[ $(status "$1") == *exit_code=* ]]; }
until_ 200 failed b
st=$(status b)
check "b on the same GPU: $st" grep -qE 'exit_code=[1-9]' <<<"$st"
grep -E 'cudaMalloc failed|unable to allocate|failed to load model|exited with status' "$T/router.log" | sed -E 's/^(\[[0-9]+\] )?[0-9.]+ . *//; s/^/      log: /' | cut -c1-150 | head -6
check "ledger counted the refusal (oom $(emu-ctl show | js 'j.gpus[0].oom'))" [ "$(emu-ctl show | js 'j.gpus[0].oom')" -ge 1 ]
check "a is untouched: $(status a), GPU 0 $(used 0) MiB" near "$(used 0)" "$led" 0.2

# ---- 4. the other GPU would have done --------------------------------------
P2=$((PORT + 1))
CUDA_VISIBLE_DEVICES=1 llama-server -m "$T/models/b.gguf" -c 512 -np 1 -ngl 99 --fit off --port $P2 >"$T/b.log" 2>&1 &
B=$!; PIDS+=($B)
until_ 200 curl -sf http://127.0.0.1:$P2/health -o /dev/null
check "b with CUDA_VISIBLE_DEVICES=1 is up; GPU 0 $(used 0), GPU 1 $(used 1) MiB" curl -sf http://127.0.0.1:$P2/health -o /dev/null
kill -9 $B; wait $B 2>/dev/null
gone1() { [ "$(used 1)" = 200 ]; }       # a's own context on GPU 1 stays
check "b killed with SIGKILL: GPU 1 back to $(used 1) MiB (a's context there)" until_ 20 gone1

# ---- 5. unload gives the memory back ---------------------------------------
post /models/unload '{"model":"a"}' >/dev/null
empty() { [ "$(used 0)$(used 1)" = 00 ]; }
until_ 100 empty; check "a unloaded: GPU 0 $(used 0), GPU 1 $(used 1) MiB" empty
post /models/load '{"model":"b"}' >/dev/null
until_ 200 isloaded b; check "b alone: $(status b), GPU 0 $(used 0) MiB" isloaded b
post /models/unload '{"model":"b"}' >/dev/null; until_ 100 empty

# ---- 6. the options --------------------------------------------------------
EMU_FAIL_NEXT=2 timeout 20 llama-server -m "$T/models/a.gguf" -c 512 -ngl 99 --fit off --device CUDA0 --port $P2 >"$T/fail.log" 2>&1; rc=$?
check "EMU_FAIL_NEXT=2: exit $rc, $(grep -c 'cudaMalloc failed' "$T/fail.log") 'cudaMalloc failed'" [ $rc -ne 0 -a $rc -ne 124 ]
emu-ctl fault alloc 1
timeout 20 llama-server -m "$T/models/a.gguf" -c 512 -ngl 99 --fit off --device CUDA0 --port $P2 >"$T/fail2.log" 2>&1; rc=$?
check "emu-ctl fault alloc 1: exit $rc" [ $rc -ne 0 -a $rc -ne 124 ]
{ EMU_POOL_MIB=350 timeout 20 llama-server -m "$T/models/a.gguf" -c 512 -ngl 99 --fit off --device CUDA0 --port $P2 >"$T/pool.log" 2>&1; rc=$?; } 2>/dev/null
check "EMU_POOL_MIB=350: dies at the first kernels, exit $rc" [ $rc -ne 0 -a $rc -ne 124 ]

t0=$(date +%s%N)
EMU_ALLOC_MBPS=60 llama-server -m "$T/models/a.gguf" -c 512 -ngl 99 --fit off --device CUDA0 --no-warmup --port $P2 >"$T/slow.log" 2>&1 &
S=$!; PIDS+=($S)
until_ 100 curl -sf http://127.0.0.1:$P2/health -o /dev/null; ms=$((($(date +%s%N) - t0) / 1000000))
check "EMU_ALLOC_MBPS=60: loading lasts $ms ms" [ $ms -gt 2500 ]
kill $S; wait $S 2>/dev/null

EMU_RELEASE_MS=1500 emu-ctl hog 1 100 >/dev/null & H=$!; PIDS+=($H)
until_ 20 eval '[ "$(used 1)" = 100 ]'
kill -9 $H; wait $H 2>/dev/null; t0=$(date +%s%N); u=$(used 1)
until_ 40 empty; ms=$((($(date +%s%N) - t0) / 1000000))
check "EMU_RELEASE_MS=1500: $u MiB held after death, gone after $ms ms" [ "$u" = 100 -a $ms -gt 1200 -a $ms -lt 2100 ]

HOGS=()
for _ in $(seq 40); do emu-ctl hog 1 50 >/dev/null 2>&1 & HOGS+=($!); done; PIDS+=("${HOGS[@]}")
until_ 40 eval '[ "$(used 1)" = 600 ]'; sleep 0.3; n=0; for h in "${HOGS[@]}"; do kill -0 $h 2>/dev/null && n=$((n+1)); done
pk=$(emu-ctl show | js 'j.gpus[1].peak/1048576')
for h in "${HOGS[@]}"; do kill -9 $h 2>/dev/null; done; wait "${HOGS[@]}" 2>/dev/null
check "40 processes race for 12 places: $n got one, peak $pk of 600 MiB; after SIGKILL $(used 1) MiB" [ "$n" = 12 -a "$pk" = 600 -a "$(used 1)" = 0 ]

emu-ctl hog 0 500 >/dev/null & H=$!; PIDS+=($H)
until_ 20 eval '[ "$(used 0)" = 500 ]'
timeout 20 llama-server -m "$T/models/a.gguf" -c 512 -ngl 99 --fit off --device CUDA0 --port $P2 >"$T/hog.log" 2>&1; rc=$?
check "with 500 MiB held by another process: exit $rc, $(grep -cE 'cudaMemGetInfo failed|cudaMalloc failed' "$T/hog.log") CUDA errors" [ $rc -ne 0 -a $rc -ne 124 ]
kill $H; wait $H 2>/dev/null

emu-ctl fault 'nvmlInit* error 18'
check "NVML fault: $(nvml-dump)" eval '! nvml-dump >/dev/null'
emu-ctl fault clear; emu-ctl fault 'nvmlDeviceGetComputeRunningProcesses* error 3' 'nvmlDeviceGetMemoryInfo@1 error 15' 'nvmlInit_v2 hang 1'
t0=$(date +%s%N); r=$(nvml-dump | js 'j.gpus.map(g=>g.rc.join())'); ms=$((($(date +%s%N) - t0) / 1000000))
check "NVML faults per function and GPU, hang: $r after $ms ms" [ "$r" = '["0,0,3","15,0,3"]' -a $ms -ge 1000 ]
emu-ctl fault clear
check "list: $(CUDA_VISIBLE_DEVICES=1,0 EMU_GPUS=600,1024 llama-server --list-devices 2>/dev/null | sed -n 's/^ *\(CUDA.*\)/\1;/p' | tr -d '\n')" \
    eval 'CUDA_VISIBLE_DEVICES=1,0 EMU_GPUS=600,1024 llama-server --list-devices 2>/dev/null | grep -q "CUDA0: NVIDIA Emulated 1GB"'
[ $FAILED = 0 ] && echo "all passed" || echo "SOME FAILED"
exit $FAILED
