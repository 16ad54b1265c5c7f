#!/usr/bin/env bash
# Writes the generated pages; tests hold them to the code.
set -euo pipefail
cd "$(dirname "$0")/../.."
.venv/bin/python -m lbclient.reference > docs/cli.md
.venv/bin/python deploy/local/errors_page.py > docs/errors.md
