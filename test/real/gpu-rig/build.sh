#!/bin/bash
# Builds the GPU rig:  build.sh PREFIX
#
#   PREFIX/bin  llama-server, llama-fit-params, libllama*.so, libggml*.so, emu-ctl, nvml-dump, emu-env, nvidia-smi, lspci
#   PREFIX/lib  libggml-emu.so, libnvidia-ml.so.1
#
# Needs: npm (or the two tarballs in RIG_NPM), git, cmake, ninja, g++.  Nothing is
# downloaded or compiled twice; a second run takes a second.
#   RIG_WORK  sources and objects           (default PREFIX/work)
#   RIG_JOBS  compile jobs                  (default: number of CPUs)
#   RIG_FULL  1 = compile all of llama.cpp instead of linking the prebuilt libraries
set -euo pipefail
main() {        # read whole before it runs

VER=3.21.1
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PREFIX=$(mkdir -p "${1:?usage: build.sh PREFIX}" && cd "$1" && pwd)
WORK=${RIG_WORK:-$PREFIX/work}
JOBS=${RIG_JOBS:-$(nproc)}
NPM=${RIG_NPM:-$WORK/npm}
T0=$(date +%s.%N)
say() { printf '[%6.1fs] %s\n' "$(echo "$(date +%s.%N) $T0" | awk '{print $1-$2}')" "$*"; }

for t in git cmake ninja g++ tar; do command -v $t >/dev/null || { echo "build.sh: $t is missing" >&2; exit 1; }; done
mkdir -p "$WORK" "$NPM" "$PREFIX/bin" "$PREFIX/lib"
exec 9>"$WORK/.lock"; flock 9

# ---- sources: llama.cpp as a git bundle, and the libraries built from it ----
fetch() {   # package, tarball
    [ -s "$NPM/$2" ] && return
    say "npm pack $1@$VER"
    local tmp; tmp=$(mktemp -d "$NPM/.pack.XXXX")
    npm pack --silent --pack-destination "$tmp" "$1@$VER" >/dev/null
    mv "$tmp/$2" "$NPM/$2" && rmdir "$tmp"
}
fetch node-llama-cpp            node-llama-cpp-$VER.tgz
fetch @node-llama-cpp/linux-x64 node-llama-cpp-linux-x64-$VER.tgz

LC=$WORK/llama.cpp
if [ ! -e "$WORK/.source-$VER" ]; then
    say "checking out llama.cpp"
    rm -rf "$LC" "$WORK/gitRelease.bundle"
    tar -xzf "$NPM/node-llama-cpp-$VER.tgz" -C "$WORK" --strip-components=2 package/llama/gitRelease.bundle
    git -c advice.detachedHead=false clone --quiet "$WORK/gitRelease.bundle" "$LC"
    touch "$WORK/.source-$VER"
fi
LIBS=$WORK/libs
if [ ! -e "$WORK/.libs-$VER" ]; then
    rm -rf "$LIBS"; mkdir -p "$LIBS"
    tar -xzf "$NPM/node-llama-cpp-linux-x64-$VER.tgz" -C "$LIBS" --strip-components=3 package/bins/linux-x64
    touch "$WORK/.libs-$VER"
fi

# ---- build ------------------------------------------------------------------
B=$WORK/build
put() { for f in "${@:2}"; do cmp -s "$f" "$1/$(basename "$f")" || { cp -f "$f" "$1/.new.$$" && chmod 755 "$1/.new.$$" && mv -f "$1/.new.$$" "$1/$(basename "$f")"; }; done; }

fast() {
    cmake -G Ninja -S "$HERE" -B "$B" -DLC="$LC" -DLIBS="$LIBS" -DRIG_SERVER=ON >"$WORK/cmake.log" 2>&1 || return 1
    say "compiling the server's sources against the prebuilt libraries ($JOBS jobs)"
    nice -n 5 ninja -C "$B" -j "$JOBS" >"$WORK/ninja.log" 2>&1 || return 1
    put "$PREFIX/bin" "$LIBS"/*.so "$B/bin/llama-server" "$B/bin/llama-fit-params"
    "$PREFIX/bin/llama-server" --version >/dev/null 2>&1
}
full() {
    cmake -G Ninja -S "$HERE" -B "$B" -DLC="$LC" -DLIBS="$LIBS" -DRIG_SERVER=OFF >"$WORK/cmake.log" 2>&1
    nice -n 5 ninja -C "$B" -j "$JOBS" >"$WORK/ninja.log" 2>&1
    say "compiling all of llama.cpp ($JOBS jobs)"
    local X=OFF; grep -qw avx2 /proc/cpuinfo && X=ON
    cmake -G Ninja -S "$LC" -B "$WORK/full" -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS="-O2" -DCMAKE_CXX_FLAGS="-O1" \
        -DGGML_BACKEND_DL=ON -DGGML_CPU_ALL_VARIANTS=OFF -DGGML_SSE42=ON -DGGML_AVX=$X -DGGML_AVX2=$X -DGGML_BMI2=$X -DGGML_FMA=$X -DGGML_F16C=$X -DGGML_NATIVE=OFF -DGGML_OPENMP=OFF -DBUILD_SHARED_LIBS=ON \
        -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_TOOLS=ON -DLLAMA_BUILD_SERVER=ON -DLLAMA_BUILD_APP=OFF \
        -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_OPENSSL=OFF \
        -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON -DCMAKE_INSTALL_RPATH='$ORIGIN' -DCMAKE_PLATFORM_NO_VERSIONED_SONAME=ON >"$WORK/cmake-full.log" 2>&1
    nice -n 5 ninja -C "$WORK/full" -j "$JOBS" llama-server llama-fit-params ggml-cpu >"$WORK/ninja-full.log" 2>&1
    rm -f "$PREFIX"/bin/libggml* "$PREFIX"/bin/libllama*
    cp -Pf "$WORK"/full/bin/*.so* "$PREFIX/bin/"
    put "$PREFIX/bin" "$WORK/full/bin/llama-server" "$WORK/full/bin/llama-fit-params"
    "$PREFIX/bin/llama-server" --version >/dev/null 2>&1
}
if [ "${RIG_FULL:-0}" = 1 ]; then full; how=full
elif fast; then how=prebuilt
else say "that did not work (see $WORK/cmake.log, $WORK/ninja.log): full build"; full; how=full
fi

put "$PREFIX/bin" "$B/bin/emu-ctl" "$B/bin/nvml-dump" "$HERE/nvidia-smi" "$HERE/lspci" "$HERE/emu-env"
put "$PREFIX/lib" "$B/lib/libggml-emu.so"
cp -Lf "$B/lib/libnvidia-ml.so.1" "$PREFIX/lib/.new.$$" && mv -f "$PREFIX/lib/.new.$$" "$PREFIX/lib/libnvidia-ml.so.1"

# ---- does it run? -----------------------------------------------------------
L=$(mktemp -u /dev/shm/emu-check.XXXXXX)
out=$(EMU_LEDGER=$L EMU_GPUS=4096,2048 "$PREFIX/bin/emu-env" "$PREFIX/bin/llama-server" --list-devices 2>&1 || true)
rm -f "$L" "$L.fault"
grep -q 'CUDA1: NVIDIA Emulated 2GB' <<<"$out" || { echo "$out"; echo "build.sh: the emulated GPUs do not show" >&2; exit 1; }
say "ready ($how): $PREFIX"
}
main "$@"; exit
