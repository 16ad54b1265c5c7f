#!/usr/bin/env bash
# Generates the Python code of the contract into the folder given.
# grpcio-tools is pinned: code of a newer generator needs protobuf 7, which tritonclient refuses.
set -euo pipefail
out=$(realpath "${1:?usage: protos.sh OUT}")
cd "$(dirname "$0")/../../protos"
"${PYTHON:-../.venv/bin/python}" -m grpc_tools.protoc -I. -Ithird_party \
  --python_out="$out" --pyi_out="$out" --grpc_python_out="$out" lookbench/v1/*.proto
