# mlperf: build, run and check. `make help` lists the targets.

SHELL   := /bin/bash
.SHELLFLAGS := -o pipefail -c
GO      ?= go
BIN     := bin/mlperf
ORT_LIB  = $(shell scripts/install_onnxruntime.sh --print-path)

.DEFAULT_GOAL := build
.PHONY: help build install run test check deadcode bench bench-backend bench-generate bench-language bench-loadgen bench-network fmt man onnxruntime clean bench-endpoint

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/mlperf
	$(GO) build -o $(BIN) ./cmd/mlperf

PREFIX  ?= $(HOME)/.local

install: build ## put mlperf into $(PREFIX)/bin, where the commands of the README find it
	install -d "$(PREFIX)/bin"
	install -m 755 $(BIN) "$(PREFIX)/bin/mlperf"
	@case ":$$PATH:" in *":$(PREFIX)/bin:"*) ;; *) echo "add $(PREFIX)/bin to PATH";; esac

run: onnxruntime build ## fetch ONNX Runtime, build, and run ResNet-50 in the Server scenario for about ten seconds
	$(BIN) run --model resnet50 --scenario server --quick --target-latency auto

test: onnxruntime ## everything that shows that it works: unit tests, and tests against the real ONNX Runtime
	MLPERF_LONG_TESTS=1 $(GO) test -timeout 20m ./...
	MLPERF_ORT_LIB="$(ORT_LIB)" $(GO) test -timeout 30m -tags ort -run '^TestORT' $(WITH_ORT)

# Packages that have tests against the real ONNX Runtime: the others' binaries would be linked a second time for nothing.
WITH_ORT = $(shell grep -rlE --include='*_test.go' '^func TestORT' cmd internal | xargs -n1 dirname | sort -u | sed 's|^|./|')

check: deadcode ## formatting, go.mod, dead code, vet, staticcheck, race detector
	@test -z "$$(gofmt -l .)" || { echo "not formatted (make fmt):"; gofmt -l .; exit 1; }
	@$(GO) mod tidy -diff || { echo "go.mod or go.sum is not as 'go mod tidy' writes it"; exit 1; }
	$(GO) vet ./...
	CGO_ENABLED=0 $(GO) build ./internal/backend/ort # other files than with cgo
	$(GO) tool staticcheck ./...
	$(GO) test -timeout 30m -race $(CONCURRENT) # the scripts of cmd, and what runs one thing after another, run in make test

# Packages of the library that start goroutines or share memory between them, in their tests or outside: what the race detector is for.
CONCURRENT = $(shell grep -rlE --include='*.go' '"sync(/atomic)?"|"golang.org/x/sync/|/internal/workerpool"|^[[:space:]]+go [a-z]' configs internal scripts | xargs -n1 dirname | sort -u | sed 's|^|./|')

deadcode: ## functions that no program reaches (TimerPacer: systems other than Linux do)
	@found=$$($(GO) tool deadcode ./... | grep -vE '^internal/(testenv|cli/clitest|models/modeltest|convert/tfcheckpoint/checkpointtest|backend/ort/orttest|backend/oip/oiptest|backend/openai/tokenserver/tokentest|machine/power/ptdtest)/|TimerPacer'); \
	test -z "$$found" || { echo "functions that only tests reach, if anybody: delete them, or move them into the tests"; echo "$$found"; exit 1; }

bench: onnxruntime ## benchmarks, with the real ONNX Runtime
	MLPERF_ORT_LIB="$(ORT_LIB)" $(GO) test -tags ort -run '^$$' -bench . -benchmem -timeout 60m ./...

bench-backend: onnxruntime ## runs of built-in models against bare loops over the same session: speed, latency, memory, batching
	MLPERF_ORT_LIB="$(ORT_LIB)" $(GO) test -tags ort -run '^$$' -bench ORT -benchtime 1x -timeout 30m ./internal/builtin

bench-generate: onnxruntime ## decoding token by token: against a loop in C, slots against one, prompts in chunks
	MLPERF_ORT_LIB="$(ORT_LIB)" $(GO) test -tags ort -run '^$$' -bench ORT -benchtime 1x -timeout 30m ./internal/models/decode

bench-language: onnxruntime ## models on sequences: against a loop in C, in Server against naive batches, tokenizing, log-mel, metrics against Python
	MLPERF_ORT_LIB="$(ORT_LIB)" $(GO) test -tags ort -run '^$$' -bench 'ORTReplay|Sequences' -benchtime 1x -timeout 30m ./internal/builtin
	$(GO) test -run '^$$' -bench 'WordPiece|Windows|Features|Peers|HundredMillion|AUC' -timeout 30m ./internal/models/tokenizer ./internal/preprocess/... ./internal/accuracy

bench-loadgen: build ## the load generator alone; PEER=PROGRAM compares it with the reference (docs/loadgen.md)
	$(BIN) selftest --all $(if $(PEER),--peer $(PEER))

bench-endpoint: build ## the client of endpoints against one in Python on the same server (Debian's python3-aiohttp; docs/endpoints.md)
	$(BIN) selftest --endpoint --duration 5s --peer $(CURDIR)/scripts/endpoint_peer.py

bench-network: onnxruntime ## requests over loopback: HTTP and gRPC beside framed TCP; serve beside one process; a slow server of eight
	$(GO) test -run '^$$' -bench Transport -benchtime 2s -timeout 20m ./internal/backend/oip/client
	MLPERF_LONG_TESTS=1 $(GO) test -run AllocatesLittle -v ./internal/backend/oip/client | grep allocate
	$(GO) test -run '^$$' -bench SlowServer -benchtime 1x ./internal/backend/oip/client
	MLPERF_ORT_LIB="$(ORT_LIB)" $(GO) test -tags ort -run '^$$' -bench 'ORTServed|ORTSmall' -benchtime 1x -timeout 20m ./cmd/mlperf

fmt: ## format the code
	gofmt -w .

man: build ## write manual pages into man/
	$(BIN) man man

onnxruntime: # fetch the pinned ONNX Runtime, once
	@scripts/install_onnxruntime.sh

clean: ## remove what was built
	rm -rf bin man
