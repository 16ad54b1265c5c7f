# One line a target; what a target does stands in the tool it calls.
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help setup run test load lint format protos docs perf up status logs down clean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' Makefile

setup:  ## Make .venv, install the embedded Triton and the demonstration data
	@deploy/local/setup.sh run

run: setup  ## Export both models, start the stack, evaluate, print the table
	@deploy/local/run.sh

test:  ## Set up and run every test that needs no container engine
	@deploy/local/setup.sh test
	$(BIN)/python -m pytest -m "not perf and not load"

load:  ## Run the tests that take minutes: kills at random points, many runs at once
	@deploy/local/setup.sh test
	$(BIN)/python -m pytest -m load

lint:  ## Check style, types, import rules and the contract
	@deploy/local/setup.sh test
	@deploy/local/lint.sh

format:  ## Format the Python code
	$(BIN)/ruff check --fix . && $(BIN)/ruff format .

protos:  ## Generate protos/gen from protos/lookbench
	@deploy/local/protos.sh protos/gen

docs:  ## Generate docs/cli.md and docs/errors.md
	@deploy/local/docs.sh

perf:  ## Measure speed against peers; minutes, on a quiet machine
	@deploy/local/setup.sh test
	$(BIN)/python -m pytest -m perf -s tests/perf

up:  ## Start the local stack
	$(BIN)/lbclient up

status:  ## Show what runs of the local stack
	$(BIN)/lbclient status

logs:  ## Follow the logs of the local stack
	tail -F .lookbench/logs/*.log

down:  ## Stop the local stack
	$(BIN)/lbclient down

clean:  ## Stop the stack, remove its data and .venv
	-[ ! -x $(BIN)/lbclient ] || $(BIN)/lbclient down
	rm -rf .lookbench .venv
