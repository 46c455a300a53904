# One way in for people and machines: `make` lists what there is.
# Only `run`, `test/quick` and `bench` are enough with Go alone; the others fetch their pinned tools into .cache/ the first time.
.DEFAULT_GOAL := help
SHELL := /bin/bash
MAKEFLAGS += --no-print-directory

.PHONY: help run test test/quick prove lint bench generate clean

help: ## list these commands
	@awk 'BEGIN {FS = ":.*## "} /^[a-z\/]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: ## serve the demonstration on http://127.0.0.1:8717
	go run ./cmd/junctor demo

test: ## everything a change must pass; ONLY="test/servers" or SINCE=main for a part
	@ONLY="$(ONLY)" SINCE="$(SINCE)" tools/test.sh

test/quick: ## vet and unit tests; needs only Go
	@tools/test.sh quick

prove: ## the long forms and all benchmarks, or PARTS="crash bench"; writes docs/reference/proofs.md
	@tools/prove.sh $(PARTS)

lint: ## formatting and golangci-lint
	@tools/install.sh gofumpt golangci-lint
	@tools/lint.sh

bench: ## what the gateway costs, beside the direct way and a plain reverse proxy
	go run ./cmd/junctor bench

generate: ## write every generated file again
	go generate ./...

clean: ## remove what was built and fetched
	rm -rf .cache bin
