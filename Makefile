# make test: everything CI checks. It installs what the tests need (as root,
# on Debian or Ubuntu).
export CGO_ENABLED = 0

.PHONY: pictures build test deps vet cross lint unit suite agents test-agents bench fuzz corpora soak generate

build:
	go build -trimpath -ldflags '-s -w' -o bin/bawn ./cmd/bawn

test: deps vet cross unit suite agents

deps:
	scripts/install-test-deps.sh

vet:
	@out=$$(gofmt -l .); if [ -n "$$out" ]; then echo "gofmt: $$out" >&2; exit 1; fi
	go vet ./...
	go vet -tags agents ./internal/frontend/agenttest

cross:
	scripts/crossbuild.sh

# staticcheck and gosec. Not part of test: building them takes minutes.
lint:
	scripts/lint.sh

# Pure code with the race detector, and not again without; code that is both.
PURE = ./internal/policy/... ./internal/hostname ./internal/shell/... ./internal/egress ./internal/sandbox ./internal/gitdir/...
BOTH = . ./internal/session/... ./cmd/...
# The longest first, so that all others run beside it.
LONGEST = bawn/internal/sandbox/sandboxtest
SUITE = $(LONGEST) $(filter-out $(LONGEST) $(shell go list $(PURE)),$(shell go list ./...))

# What drives the built program has the tag !race: that has no detector in it.
unit:
	CGO_ENABLED=1 go test -race $(PURE) $(BOTH)

# The real program in the real kernel, as root and as an ordinary user. Never
# from the cache: it does not know the built program.
suite:
	test -n "$(filter-out $(LONGEST),$(SUITE))"
	go test -count=1 -timeout 30m $(SUITE)

# Real agents from npm, as root, in a network namespace with nothing but a model
# server: the two that are quickest to install and run, and all of them.
agents:
	BAWN_TEST_AGENTS=gemini,copilot $(MAKE) test-agents

test-agents:
	go test -count=1 -timeout 60m -tags agents -run '^TestRealAgents$$' ./internal/frontend/agenttest

bench:
	go run ./bench

# Every fuzz target in turn, each for FUZZTIME.
fuzz:
	scripts/fuzz.sh

# What fuzzing has found worth keeping, into testdata/corpora.tar.gz.
corpora:
	scripts/fuzz.sh -k

# Kills at many more moments, as root and as a user, and the parallel tests often.
soak:
	BAWN_SOAK=300 go test -count=1 -timeout 2h -run 'F11_Killed|MakeAGitDirectory' ./internal/sandbox/sandboxtest
	go test -count=30 -timeout 2h -run 'KilledSession|KeepKilled|DiscardAfterKill' ./cmd/bawn ./internal/staged
	BAWN_SOAK=200 go test -count=5 -timeout 2h -run '^TestConcurrent$$' .

# The pictures of the documents, from the program as it is (as root).
pictures:
	go test -count=1 -run '^TestPictures$$' ./internal/tools/shot -update

generate:
	go generate ./...
