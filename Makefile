# mlperf: build, run and check. `make help` lists the targets.

SHELL   := /bin/bash
.SHELLFLAGS := -o pipefail -c
GO      ?= go
BIN     := bin/mlperf
ORT_LIB  = $(shell scripts/install_onnxruntime.sh --print-path)

.DEFAULT_GOAL := build
.PHONY: docs help build install wheel snapshot release run quick test check nightly deadcode bench bench-backend bench-generate bench-language bench-loadgen bench-network fmt man onnxruntime clean bench-endpoint

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Vector instructions, which decode JPEG files (internal/preprocess/jpeg/vector.go); nothing where this Go does not have the
# experiment. Without it the program is the same, and slower there.
GOEXPERIMENT := $(or $(GOEXPERIMENT),$(shell GOEXPERIMENT=simd $(GO) env GOEXPERIMENT 2>/dev/null))
export GOEXPERIMENT

LDFLAGS ?= -s -w # a third smaller; LDFLAGS= keeps the symbols for a debugger

# The linker would throw away what the compiler writes for debuggers, which is a sixth of its time.
ifneq (,$(findstring -w,$(LDFLAGS)))
export GOFLAGS := $(strip $(GOFLAGS) -gcflags=all=-dwarf=false)
endif

# Garbage collection is a quarter of the compiler's time. Without it a package takes 1 GB at most instead of half of one.
FEWER_GC := GOGC=off GOMEMLIMIT=1GiB

# On two processors there are always packages to compile beside each other, and the threads of one compiler only wait for each other: a tenth
# of the time. go build takes the number of packages from that of threads unless it is told.
PROCESSORS := $(shell getconf _NPROCESSORS_ONLN)
GO_BUILD   := $(FEWER_GC) $(if $(filter 1 2,$(PROCESSORS)),GOMAXPROCS=1 $(GO) build -p $(PROCESSORS),$(GO) build)

# Tests without what only debuggers read, which takes a third of the linker's time, and without vet, which make check runs on everything.
# One more package at a time than there are processors: some tests wait.
LEAN_TESTS := -vet=off -ldflags=-w -p $(shell echo $$(($(PROCESSORS) + 1)))

# Tests make thousands of small files, which takes a third of the system's time of tests on a disk. They are in memory where it has 8 GB and
# /dev/shm takes 4 of them; the compiler needs one or two.
IN_MEMORY := $(shell awk '/^MemAvailable/ && $$2 > 8e6 { exit 1 }' /proc/meminfo 2>/dev/null || \
	df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 4e6 { print "TMPDIR=/dev/shm" }')

build: ## build bin/mlperf
	$(GO_BUILD) -ldflags "$(strip $(LDFLAGS))" -o $(BIN) ./cmd/mlperf

PREFIX  ?= $(HOME)/.local

install: build ## put mlperf into $(PREFIX)/bin, where the commands of the README find it
	install -d "$(PREFIX)/bin"
	install -m 755 $(BIN) "$(PREFIX)/bin/mlperf"
	@case ":$$PATH:" in *":$(PREFIX)/bin:"*) ;; *) echo "add $(PREFIX)/bin to PATH";; esac

# zig (pip install ziglang has it) links for systems from glibc 2.28 on. Without it the wheel is for systems as new as this one.
ZIG      ?= $(or $(shell command -v zig),$(shell python3 -c 'import ziglang' 2>/dev/null && echo python3 -m ziglang))
WHEEL_CC  = $(if $(and $(ZIG),$(filter Linux,$(shell uname -s))),$(ZIG) cc -target $(shell uname -m)-linux-gnu.2.28)

wheel: ## make dist/mlperf-….whl, which pip installs together with ONNX Runtime
	CGO_ENABLED=1 $(if $(WHEEL_CC),CC="$(WHEEL_CC)") $(GO_BUILD) -trimpath -ldflags "$(strip $(LDFLAGS))" -o dist/mlperf ./cmd/mlperf
	$(GO) run ./scripts/wheel --version "$$(dist/mlperf version | tr -d , | cut -d' ' -f2)" --output dist dist/mlperf

GORELEASER ?= $(GO) run github.com/goreleaser/goreleaser/v2@v2.17.0
RELEASE     = $(if $(ZIG),,$(error zig is missing: pip install ziglang==0.17.1, or set ZIG))ZIG="$(ZIG)" $(GORELEASER) release --clean

snapshot: ## make all of a release in dist/, and publish nothing: archives, wheels, .deb, .rpm, SBOMs; the image with docker
	$(RELEASE) --snapshot $(if $(shell docker buildx inspect 2>/dev/null),,--skip=docker)

release: ## publish the release of the tag that is checked out
	$(RELEASE)

run: ## fetch ONNX Runtime, build, and run ResNet-50 in the Server scenario for about ten seconds
	@$(MAKE) -j2 onnxruntime build # downloads beside compiling
	$(BIN) run --model resnet50 --scenario server --quick --target-latency auto

quick: ## tests of what changed and of what imports it directly (30 s)
	scripts/quick.sh

test: onnxruntime ## all tests but the long ones, and those of the engine, the built-in networks, run, convert and the command line with the real ONNX Runtime (3 min)
	$(IN_MEMORY) $(GO) test $(LEAN_TESTS) -timeout 10m ./...
	$(IN_MEMORY) MLPERF_ORT_LIB="$(ORT_LIB)" $(GO) test $(LEAN_TESTS) -timeout 10m -tags ort -run '^TestORT' ./cmd/mlperf ./internal/backend/ort ./internal/onnx/arch ./internal/convert/... ./internal/run

check: deadcode ## formatting, go.mod, dead code, vet, staticcheck, race detector (3 min)
	@test -z "$$(gofmt -l .)" || { echo "not formatted (make fmt):"; gofmt -l .; exit 1; }
	@$(GO) mod tidy -diff || { echo "go.mod or go.sum is not as 'go mod tidy' writes it"; exit 1; }
	$(FEWER_GC) $(GO) vet -tags ort ./... # with the tests that need ONNX Runtime
	CGO_ENABLED=0 $(GO) build ./internal/run # other files than with cgo
	$(FEWER_GC) $(GO) tool staticcheck ./...
	$(GO_BUILD) -race $(CONCURRENT)
	$(IN_MEMORY) $(GO) test $(LEAN_TESTS) -timeout 10m -race -short $(CONCURRENT)

# Packages that start goroutines outside their tests. Those of the command line and of the client's self-test wait for what other packages do,
# and are long: make nightly has them.
CONCURRENT = $(filter-out ./internal/cli ./internal/run/clienttest, \
	$(shell grep -rlE --include='*.go' --exclude='*_test.go' '^[[:space:]]+go [a-z]|\.Go.func' internal | xargs -n1 dirname | sort -u | sed 's|^|./|'))

# The newest that is known to work; its sum is in the script.
NEWEST_ORT := 1.32.0

nightly: onnxruntime build ## long tests, all tests with the real ONNX Runtime, the race detector everywhere, every fuzz target, golden data made again, the test data of ONNX, Slurm, Kubernetes, a release (some hours)
	-for device in openvino webgpu; do $(BIN) download runtime $$device --accept-license; done # for the tests that need them; Linux x86-64
	MLPERF_LONG_TESTS=1 $(GO) test -timeout 30m ./...
	MLPERF_LONG_TESTS=1 MLPERF_ORT_LIB="$(ORT_LIB)" $(GO) test -timeout 60m -tags ort -run '^TestORT' ./... # with the oldest version that is supported
	scripts/install_onnxruntime.sh --version $(NEWEST_ORT) --dir bin/onnxruntime-$(NEWEST_ORT)
	MLPERF_ORT_LIB="$(CURDIR)/bin/onnxruntime-$(NEWEST_ORT)/libonnxruntime.so.1" $(GO) test -timeout 60m -tags ort -run '^TestORT' ./...
	$(GO) test -timeout 60m -race ./...
	scripts/fuzz.sh 30s
	scripts/goldens.sh
	MLPERF_ORT_LIB="$(ORT_LIB)" scripts/onnx_tests.sh
	scripts/slurm.sh $(BIN)
	scripts/kubernetes.sh $(BIN)
	$(MAKE) snapshot

deadcode: ## functions that no program reaches (TimerPacer: systems other than Linux do)
	@found=$$(GOGC=off GOMEMLIMIT=3GiB $(GO) tool deadcode ./... | grep -vE '^internal/(testenv|models/modeltest|convert/tfcheckpoint/checkpointtest|backend/ort/orttest|serve/oiptest|serve/tokenserver/tokentest|machine/power/ptdtest|run/runtest|report/requests/requeststest|tensor/npy/npytest)/|TimerPacer'); \
	test -z "$$found" || { echo "functions that only tests reach, if anybody: delete them, or move them into the tests"; echo "$$found"; exit 1; }

bench: onnxruntime ## benchmarks, with the real ONNX Runtime
	MLPERF_ORT_LIB="$(ORT_LIB)" $(GO) test -tags ort -run '^$$' -bench . -benchmem -timeout 60m ./...

bench-backend: onnxruntime ## runs of built-in models against bare loops over the same session: speed, latency, memory, batching
	MLPERF_ORT_LIB="$(ORT_LIB)" $(GO) test -tags ort -run '^$$' -bench ORT -benchtime 1x -timeout 30m ./internal/builtin

bench-generate: onnxruntime ## decoding token by token: against a loop in C, slots against one, prompts in chunks
	MLPERF_ORT_LIB="$(ORT_LIB)" $(GO) test -tags ort -run '^$$' -bench ORT -benchtime 1x -timeout 30m ./internal/models/decode

bench-language: onnxruntime ## models on sequences: against a loop in C, in Server against naive batches, tokenizing, log-mel, metrics against Python
	MLPERF_ORT_LIB="$(ORT_LIB)" $(GO) test -tags ort -run '^$$' -bench 'ORTReplay|Sequences' -benchtime 1x -timeout 60m ./internal/builtin
	$(GO) test -run '^$$' -bench 'WordPiece|Windows|Features|Peers|HundredMillion|AUC' -timeout 30m ./internal/tokenizer ./internal/preprocess/... ./internal/accuracy

bench-loadgen: build ## the load generator alone; PEER=PROGRAM compares it with the reference (docs/loadgen.md)
	$(BIN) selftest --all $(if $(PEER),--peer $(PEER))

bench-endpoint: build ## the client of endpoints against one in Python on the same server (Debian's python3-aiohttp; docs/endpoints.md)
	$(BIN) selftest --endpoint --duration 5s --peer $(CURDIR)/scripts/endpoint_peer.py

bench-network: onnxruntime ## requests over loopback: HTTP and gRPC beside framed TCP; serve beside one process
	$(GO) test -run '^$$' -bench Transport -benchtime 2s -timeout 20m ./internal/backend/oip/client
	MLPERF_ORT_LIB="$(ORT_LIB)" $(GO) test -tags ort -run '^$$' -bench 'ORTServed|ORTSmall' -benchtime 1x -timeout 20m ./cmd/mlperf

fmt: ## format the code
	gofmt -w .

man: build ## write manual pages into man/
	$(BIN) man man

docs: build ## make a site of the documents, the manual and the schema in dist/docs, with search (mdBook)
	scripts/docs.sh

onnxruntime: # fetch the pinned ONNX Runtime, once
	@scripts/install_onnxruntime.sh

clean: ## remove what was built
	rm -rf bin man dist
