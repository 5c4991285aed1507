# Every target installs the packages it needs, then calls meson and the scripts.
PREFIX  ?= /usr/local
DESTDIR ?=

need = scripts/install-packages
setup = scripts/setup-build

.PHONY: all run test test-heavy test-n8n test-debian bench lint fuzz coverage install clean

all:
	@$(need) build
	@$(setup) release
	@ninja -C build

run: all
	@scripts/run

test:
	@$(need) build test
	@scripts/run-tests

test-heavy:
	@$(need) build test bench
	@scripts/run-heavy

test-n8n:
	@$(need) build n8n
	@scripts/run-n8n

# On another release of Debian, or for another architecture: make test-debian SUITE=trixie ARCH=arm64
SUITE ?= trixie
ARCH  ?=
test-debian:
	@$(need) debian
	@scripts/test-debian $(SUITE) $(ARCH)

bench:
	@$(need) build bench
	@scripts/run-bench

lint:
	@$(need) build test lint
	@scripts/lint

fuzz:
	@$(need) build test bench
	@scripts/run-fuzz

coverage:
	@$(need) build test coverage
	@scripts/run-coverage

install:
	@$(need) build
	@PREFIX='$(PREFIX)' $(setup) release
	@ninja -C build
	@DESTDIR='$(DESTDIR)' meson install -C build --strip --no-rebuild --quiet

clean:
	@rm -rf build build-*
