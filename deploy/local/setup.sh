#!/usr/bin/env bash
# Makes .venv with everything that `run` or `test` needs, the embedded Triton and the
# demonstration data. Does nothing when all of it is there.
#
#   LOOKBENCH_TORCH=cuda   take PyTorch's GPU build (several GB); default: the CPU build
#   PYTHON=python3.12      the interpreter to use; default: python3
set -euo pipefail
cd "$(dirname "$0")/../.."
purpose=${1:?usage: setup.sh run|test}
goal=$([ "$purpose" = test ] && echo test || echo run)
python=${PYTHON:-python3}
cpu_index=https://download.pytorch.org/whl/cpu

fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }
say() { printf '==> %s\n' "$*" >&2; }

check_python() {
  command -v "$python" > /dev/null || fail "no $python; install it: sudo apt-get install python3 python3-venv"
  "$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' ||
    fail "$("$python" --version) does not fit, 3.11 to 3.13 is needed; name one: PYTHON=python3.11 make $goal"
}

make_environment() {
  [ -x .venv/bin/pip ] && return
  say "creating .venv with $("$python" --version)"
  "$python" -m venv .venv > /dev/null || {
    rm -rf .venv
    fail "$python cannot make environments; install it: sudo apt-get install python3-venv"
  }
}

# On x86-64 Linux PyPI's torch is the CUDA build, so the CPU build is asked for by name.
torch_requirement() {
  version=$(sed -n 's/^torch==//p' constraints.txt)
  if [ "${LOOKBENCH_TORCH:-cpu}" = cpu ] && [ "$(uname -sm)" = "Linux x86_64" ]; then
    echo "torch==$version+cpu"
  else
    echo "torch==$version"
  fi
}

install_packages() {
  local stamp=.venv/.installed-$purpose wanted extra=()
  wanted=$(cat pyproject.toml constraints.txt "$0" | sha256sum)
  [ "$(cat "$stamp" 2> /dev/null)" = "$wanted" ] && return
  say "installing packages for '$purpose' (about a minute with a warm cache, minutes without)"
  [ "$purpose" = test ] && extra=(--group dev)
  local pip=(.venv/bin/python -m pip install --quiet --constraint constraints.txt)
  "${pip[@]}" --upgrade 'pip>=25.1' || fail "cannot reach a package index; check the connection"
  # Alone: whatever torch needs comes from the usual index.
  "${pip[@]}" --no-deps "$(torch_requirement)" --extra-index-url "$cpu_index" ||
    fail "no CPU build of torch; check the connection to $cpu_index, or take the GPU build: LOOKBENCH_TORCH=cuda make $goal"
  "${pip[@]}" --editable '.[all]' "${extra[@]}" ||
    fail "packages are missing, see above; 'make $goal' goes on from here"
  echo "$wanted" > "$stamp"
}

check_python
make_environment
install_packages
.venv/bin/lookbench-triton install
.venv/bin/lbclient benchmarks fetch fashion-mnist
