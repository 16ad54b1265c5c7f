#!/usr/bin/env bash
# From exported models to a table: 500 queries against 4,000 product photos.
set -euo pipefail
cd "$(dirname "$0")/../.."
bin=.venv/bin

$bin/lookbench-export efficientnet-lite0 --if-missing
$bin/lookbench-export sentence --if-missing
$bin/lbclient up --free-ports
$bin/lbclient benchmarks import fashion-demo --format fashion-mnist \
  --path "$($bin/lbclient benchmarks fetch fashion-mnist)" --option queries=500 --option items=4000
$bin/lbclient evaluate --benchmark fashion-demo --model efficientnet-lite0

cat << 'NEXT'

The stack stays up. Next:
  .venv/bin/lbclient models                    what is served
  .venv/bin/lbclient runs list                 the runs so far
  .venv/bin/lbclient benchmarks import --help  your own images or texts
  .venv/bin/lbclient down                      stop the stack
NEXT
