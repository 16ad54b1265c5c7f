#!/usr/bin/env bash
# Writes the generated pages; tests hold them to the code.
set -euo pipefail
cd "$(dirname "$0")/../.."
.venv/bin/python -m lbclient.reference > docs/cli.md
.venv/bin/python -m lookbench_evaluator.error_reference > docs/errors.md
