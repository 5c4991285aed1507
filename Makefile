# Every target installs the packages it needs, then calls meson and the scripts.
PREFIX  ?= /usr/local
DESTDIR ?=

need = scripts/install-packages
setup = scripts/setup-build

.PHONY: all help run test test-heavy test-n8n test-agents test-debian bench lint fuzz coverage install uninstall deb clean

all: ## builds everything in build/
	@$(need) build
	@$(setup) release
	@ninja -C build

help: ## lists the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/make \1|\2/p' Makefile | awk -F'|' '{ printf "%-18s %s\n", $$1, $$2 }'

run: all ## starts it for this folder, and prints the address of the page
	@scripts/run

test: ## runs every test; ends with "N passed, N failed"
	@$(need) build test deb
	@scripts/run-tests

test-heavy: ## runs tests that take long
	@$(need) build test bench
	@scripts/run-heavy

test-n8n: ## runs against a real n8n
	@$(need) build n8n
	@scripts/run-n8n

test-agents: ## runs against a real Claude Code, Codex and Gemini CLI
	@$(need) build agents
	@scripts/run-agents

# On another release of Debian, or for another architecture: make test-debian SUITE=trixie ARCH=arm64
SUITE ?= trixie
ARCH  ?=
test-debian: ## runs the tests in another release of Debian
	@$(need) debian
	@scripts/test-debian $(SUITE) $(ARCH)

bench: ## compares with peers, and marks a missed goal
	@$(need) build bench
	@scripts/run-bench

lint: ## runs all checks of the sources
	@$(need) build test lint
	@scripts/lint

fuzz: ## fuzzes every parser
	@$(need) build test bench
	@scripts/run-fuzz

coverage: ## measures what the tests cover
	@$(need) build test coverage
	@scripts/run-coverage

install: ## installs under PREFIX (/usr/local), and says what to try
	@$(need) build
	@PREFIX='$(PREFIX)' $(setup) release
	@ninja -C build
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' scripts/install

uninstall: ## removes what was installed under PREFIX, and nothing else
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' scripts/uninstall

deb: ## packs it for Debian, in build/, and says how to install that
	@$(need) build deb
	@$(setup) release
	@ninja -C build
	@scripts/make-deb

clean: ## removes what was built
	@rm -rf build build-*
