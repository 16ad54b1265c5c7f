#!/usr/bin/env bash
# Style, types, import rules and the contract; all of them, then the verdict.
set -uo pipefail
cd "$(dirname "$0")/../.."
failed=0
check() {
  printf '%-14s' "$1"
  shift
  if output=$("$@" 2>&1); then echo ok; else failed=1; printf 'FAILED\n%s\n' "$output"; fi
}
check ruff .venv/bin/ruff check .
check format .venv/bin/ruff format --check .
check mypy .venv/bin/mypy
check imports .venv/bin/lint-imports
check buf .venv/bin/buf lint
exit $failed
