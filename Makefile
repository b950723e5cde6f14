# sessiond: what there is to do. `make` alone explains the targets.

GO           ?= go
PKG          ?= ./...
ARGS         ?=
TESTFLAGS    ?=
BENCH        ?= .
FUZZTIME     ?= 30s
TORTURE      ?= 10
LINT_VERSION := 2.15.0

BIN     := $(CURDIR)/.bin
LINT    := $(BIN)/golangci-lint
TESTPG  := $(GO) run ./internal/testenv/cmd/testpg --
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

.DEFAULT_GOAL := help

.PHONY: help
help: ## explain the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: build ## build and start the server on its defaults; ARGS="--config FILE" for others
	./dist/sessiond $(ARGS)

.PHONY: build
build: ## build the server into dist/sessiond
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o dist/sessiond ./cmd/sessiond

.PHONY: test
test: ## run all tests with the race detector; PKG=./store/... for some, TESTFLAGS for more flags
	@scripts/need cc postgres
	$(TESTPG) $(GO) test -race -timeout 20m $(TESTFLAGS) $(PKG)

.PHONY: lint
lint: lint-tool ## check code, formatting and go.mod
	$(GO) mod verify
	$(GO) mod tidy -diff
	$(GO) vet ./...
	$(LINT) run --allow-serial-runners ./...

.PHONY: fmt
fmt: lint-tool ## format the code
	$(LINT) fmt

.PHONY: lint-tool
lint-tool:
	@$(LINT) version 2>/dev/null | grep -qF ' $(LINT_VERSION) ' || \
		GOBIN=$(BIN) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(LINT_VERSION)

.PHONY: bench
bench: ## run the benchmarks, each next to its baseline; BENCH=REGEXP for some
	@scripts/need postgres
	$(TESTPG) $(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -p 1 -timeout 60m $(PKG)

.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZTIME (30s)
	@scripts/fuzz $(FUZZTIME) $(PKG)

.PHONY: torture
torture: ## lose connections, kill servers and tell stories TORTURE (10) times as long as the tests do
	@scripts/need cc postgres
	SESSIOND_TEST_REPETITIONS=$$((10 * $(TORTURE))) $(GO) test -race -run TwoHundredRounds -count 1 -v -timeout 3h ./session
	TORTURE=$(TORTURE) $(TESTPG) $(GO) test -run Torture -count 1 -v -timeout 3h ./server ./cmd/sessiond

.PHONY: e2e
e2e: ## drive the built server with clients written by others (Node.js, Python, a browser)
	@scripts/need node npm python3-websockets chromium
	$(GO) test -tags e2e -count 1 -timeout 40m ./test/e2e/...

.PHONY: replay
replay: ## play all recorded conversations through the fakes of both providers' APIs
	SESSIOND_TEST_REPLAY=all $(GO) test -run '^TestReplayThroughFakes$$' -count 1 -v -timeout 60m ./cmd/sessiond

REPLAY := dist/sessiond replay --log error
FILES  ?= ../shared/transcripts/*.jsonl

.PHONY: replay-compact
replay-compact: build ## keep the recorded conversations FILES within several limits, and check how
	$(REPLAY) --compact --limit 8000,25000,64000 $(FILES)
	$(REPLAY) --compact --limit 8000,25000,64000 --thinking $(FILES)
	$(REPLAY) --compact --limit 8000,25000,64000 --through openai $(FILES)
	$(REPLAY) --compact --limit 200000 --chain 400000 $(FILES)
	$(REPLAY) --compact --limit 200000 --chain 400000 --thinking $(FILES)
	$(REPLAY) --facts 60 --limit 8000,25000

COST    := $(REPLAY) --cost --markdown
PICTURE ?= ../shared/transcripts/claude-code-cbeea4002b.jsonl

.PHONY: replay-cost
replay-cost: replay-cost-saves replay-cost-unmarked replay-cost-model replay-cost-thinking replay-cost-settings replay-cost-modes ## print all tables of docs/caching.md for the recorded conversations FILES, and check them; -k goes on

.PHONY: replay-cost-saves
replay-cost-saves: build
	$(COST) --limit 25000,64000,200000 --flat-base --csv dist/cost.csv $(FILES)

.PHONY: replay-cost-unmarked
replay-cost-unmarked: build
	$(REPLAY) --cost --limit 25000 --breakpoints=false $(FILES)

.PHONY: replay-cost-model
replay-cost-model: build
	$(COST) --limit 25000,64000,200000 --check=false --price-model claude-sonnet-5 $(FILES)

.PHONY: replay-cost-thinking
replay-cost-thinking: build
	$(COST) --limit 25000,64000,200000 --check=false --thinking $(FILES)

.PHONY: replay-cost-settings
replay-cost-settings: build
	$(COST) --limit 25000 --check=false --sweep landing_ratio=0.5,0.6,0.7,0.8 --sweep recovery=0,500,10000 --sweep summary-mode=cost,flat,shared $(FILES)
	$(COST) --limit 64000 --check=false --sweep landing_ratio=0.5,0.6,0.7,0.8 $(FILES)

.PHONY: replay-cost-modes
replay-cost-modes: build
	$(COST) --limit 25000 --summary-mode flat $(FILES)
	$(COST) --limit 25000 --summary-mode shared $(FILES)

.PHONY: replay-plot
replay-plot: build ## draw docs/caching.svg, the context of the recorded conversation PICTURE
	$(REPLAY) --cost --check=false --plot docs/caching.svg $(PICTURE)

.PHONY: docker
docker: ## build the container image sessiond
	docker build --build-arg VERSION=$(VERSION) -t sessiond .

.PHONY: clean
clean: ## remove what build and test made; data/ and .bin/ stay
	rm -rf dist
	$(GO) clean -testcache
