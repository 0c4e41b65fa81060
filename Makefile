# The front door: `make demo` and `make test` need nothing but a Debian or Ubuntu machine and this folder. Every other
# target is a short name for a command that docs/contributing.md explains.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.ONESHELL:
.SILENT:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# Names of Debian 12 and Ubuntu 22.04. The CUDA toolkit is not among them: without it only the offline half is built.
PACKAGES := cmake ninja-build g++ pkg-config catch2 libspdlog-dev libfmt-dev libcli11-dev libtomlplusplus-dev nlohmann-json3-dev \
            libzstd-dev zlib1g-dev libsqlite3-dev protobuf-compiler libdw-dev libbz2-dev liblzma-dev libbenchmark-dev libjemalloc2 python3 python3-pytest python3-venv zstd
# The page is tested in a browser where Node 20 and npm are there to drive it. They are not installed: Debian 12 has an older
# Node. Ubuntu has no browser as a package.
BROWSER_PACKAGES = $(shell . /etc/os-release && [ "$$ID" = debian ] && command -v node npm > /dev/null && echo chromium)
# What the tests of the packages use; each says so where something is missing.
PACKAGES_PACKAGES := lintian fakeroot libtcmalloc-minimal4
# MPICH (52 MB) and Slurm (it starts services) are tested where they are installed: mpich, slurmctld slurmd slurm-client munge.
LAUNCHER_PACKAGES := openmpi-bin
# What `push` brings rows to, for .ci/run alone: on a machine of one's own the package would start a server.
CLICKHOUSE_PACKAGES = curl $(shell apt-cache show clickhouse-server > /dev/null 2>&1 && echo clickhouse-server)
# The runtime of its sanitizers and of libFuzzer carries clang's version in its name, except where it is part of clang.
CLANG_VERSION = $(shell apt-cache depends clang 2> /dev/null | sed -n 's/.*Depends: clang-//p')
CLANG_PACKAGES = clang lld llvm $(shell apt-cache pkgnames libclang-rt-$(CLANG_VERSION)-dev | grep -x '.*-dev')
# The cross compiler's C and C++ libraries (clang compiles), and an emulator; what synctrace links comes from build/aarch64-libraries.
AARCH64_PACKAGES := g++-aarch64-linux-gnu qemu-user-static
AARCH64_LIBRARIES := libbz2-dev libdw-dev libelf-dev liblzma-dev libsqlite3-dev libzstd-dev zlib1g-dev
FORMAT_PACKAGES := clang-format
STYLE_PACKAGES := $(FORMAT_PACKAGES) clang-tidy

JOBS ?= $(shell nproc)
# `make test` compiles several files of the product as one, which takes three fifths of the time; OFF: each alone, as in a release.
JOIN ?= ON
FUZZ_SECONDS ?= 60
PREFIX ?= /usr/local

# With a sanitizer clang compiles in two thirds of gcc's time, and it warns of other things. The default compiler stands in where
# clang cannot link such a program. $(call clang_for,address+undefined)
clang_for = $(shell echo 'int main() {}' | clang++ -x c++ -fsanitize=$(subst +,$(comma),$(1)) -o /dev/null - 2> /dev/null \
              && echo -DCMAKE_CXX_COMPILER=clang++)
comma := ,

# $(call build,preset,targets,options,prefix): configures (showing notes and warnings only) and builds all or the named targets.
define build
cmake --preset $(1) $(3) --log-level=NOTICE > /dev/null
$(4) cmake --build --preset $(1) -j $(JOBS) $(addprefix --target ,$(2))
endef

# The function `stage NAME` writes how long it was since the last one, for .ci/run to show.
define stages
mkdir -p build && : > build/stages.txt
began=0
stage() {
  printf '%3d:%02d  %s\n' $$(((SECONDS - began) / 60)) $$(((SECONDS - began) % 60)) "$$1" >> build/stages.txt
  began=$$SECONDS
}
endef

.PHONY: help
help: ## show this list
	awk -F ' ## ' '/^[a-z0-9-]+:.* ## / { sub(":.*", "", $$1); printf "  make %-10s %s\n", $$1, $$2 }' Makefile

.PHONY: demo
demo: deps ## build, run three examples under synctrace, and show the answers, here and of a recorded PyTorch program
	$(call build,release,demo,-DSYNCTRACE_PRECOMPILE=ON -DSYNCTRACE_JOIN=ON)
	bin=build/release/bin
	rm -rf build/demo && mkdir -p build/demo
	look() { printf '\n== %s\n   Look at %s\n\n' "$$1" "$$2"; }
	if [[ ! -x $$bin/sync_per_step ]]; then
	  echo "synctrace: only the offline half was built (no CUDA toolkit), so these are reports of stored traces."
	  $$bin/synctrace dump --assemble tests/golden/report/sync_per_step.trace.txt -o build/demo/sync_per_step.synctrace
	  look sync_per_step 'the line under "What to change": it waits in each step. What to write stands behind the arrow.'
	  $$bin/synctrace report build/demo/sync_per_step.synctrace
	else
	  if nvidia-smi -L > /dev/null 2>&1 || [[ -e /dev/nvidia0 ]]; then
	    simulated=()
	    name=$$(nvidia-smi -L 2> /dev/null | sed -n '1s/ (UUID.*//p' || true)
	    echo "synctrace: running the examples on $${name:-the GPU of this machine}."
	  else
	    simulated=(--simgpu)
	    echo "synctrace: no GPU here; running the examples on the simulated GPU."
	  fi
	  show() {
	    look "$$1" "$$2"
	    $$bin/synctrace run --quiet "$${simulated[@]}" -o "build/demo/$$1.synctrace" --report=none -- "$$bin/$$1"
	    $$bin/synctrace report "build/demo/$$1.synctrace"
	  }
	  show sync_per_step 'the line under "What to change": it waits in each step. What to write stands behind the arrow.'
	  show pageable_async 'the copy: it is asynchronous by its name, and waits because its memory is not pinned.'
	  show healthy_pipeline 'what is not there: nothing is worth a change, and that is said.'
	fi
	stored=tests/golden/frameworks/point_strokes.fps.synctrace
	look "a PyTorch program, recorded on an H200 (docs/case-studies/point-clouds.md)" \
	  '"all so far": what the changes save together, with its range, by a replay of the recording.'
	$$bin/synctrace report $$stored
	$$bin/synctrace report --html build/demo/pytorch.html $$stored
	printf '\nAs a page, with its timeline: build/demo/pytorch.html. Your own program: %s/synctrace python3 train.py\n' "$$bin"

.PHONY: test
test: deps deps-clang deps-browser deps-packages deps-launchers ## all tests: under AddressSanitizer and ThreadSanitizer, then those that need no sanitizer, or say more without
	$(stages)
	$(call build,release,,-DSYNCTRACE_TESTS=optimised -DSYNCTRACE_PRECOMPILE=ON -DSYNCTRACE_JOIN=$(JOIN))
	stage "release build"
	# Tests that run whole programs wait for a good part of their time. The next build takes what they leave.
	(
	  status=0
	  ctest --preset release -j $$(($(JOBS) + 2)) > build/release/tests.txt 2>&1 || status=$$?
	  stage "release tests, beside the next stages"
	  exit $$status
	) &
	release_tests=$$!
	trap 'kill $$release_tests 2> /dev/null || true' EXIT
	$(call build,asan,,$(call clang_for,address+undefined),nice)
	stage "AddressSanitizer's build"
	ctest --preset asan -j $(JOBS)
	stage "AddressSanitizer's tests"
	if [[ -e build/release/lib/libsynctrace.so ]]; then
	  $(call build,tsan,tsan_tests,$(call clang_for,thread))
	  ctest --preset tsan -j $(JOBS)
	  stage "ThreadSanitizer's build and tests"
	fi
	status=0
	wait $$release_tests || status=$$?
	trap - EXIT
	cat build/release/tests.txt
	exit $$status

.PHONY: build
build: deps ## build everything into build/release
	$(call build,release,,-DSYNCTRACE_TESTS=all)

.PHONY: aarch64
aarch64: deps deps-clang deps-aarch64 ## build the command without the recorder for aarch64, and run it in an emulator
	$(call build,aarch64,synctrace)
	SYNCTRACE_BIN="qemu-aarch64-static '$(CURDIR)/build/aarch64/bin/synctrace'" python3 -B tests/golden/report/command_test.py

.PHONY: package
package: deps ## make the packages (tarballs, wheel, deb): dist/
	$(call build,release,packages_parts,-DSYNCTRACE_PRECOMPILE=ON -DSYNCTRACE_JOIN=ON)
	rm -rf dist
	python3 -B packages/make_packages.py build/release dist
	cat dist/SHA256SUMS

.PHONY: release
release: deps deps-clang deps-packages ## make the packages for others: each file compiled by itself, and every test of packages
	$(call build,release,packages_parts,-DSYNCTRACE_PRECOMPILE=ON -DSYNCTRACE_JOIN=OFF)
	ctest --preset release -j $(JOBS) -L packages
	rm -rf dist && cp -r build/release/packages/dist dist
	cat dist/SHA256SUMS

.PHONY: fuzz
fuzz: deps deps-clang ## fuzz the trace reader for FUZZ_SECONDS (60)
	$(call build,fuzz)
	for fuzzer in build/fuzz/bin/fuzz_*; do
	  corpus=build/fuzz/corpus/$$(basename "$$fuzzer")
	  mkdir -p "$$corpus"
	  "$$fuzzer" -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 -timeout=10 -rss_limit_mb=2048 "$$corpus" tests/fuzz/corpus
	done

.PHONY: mutants
mutants: deps deps-clang ## plant 120 small faults, one at a time, and say which no test notices (half an hour or more; goes on where it was)
	python3 tests/mutation/mutants.py

.PHONY: bench
bench: build ## run the micro-benchmarks
	for benchmark in build/release/bin/bench_*; do "$$benchmark"; done
	python3 tests/bench/report_bench.py build/release/bin
	python3 tests/bench/gate_bench.py build/release/bin

.PHONY: format
format: deps-format ## format the sources that git tracks, with Debian 12's clang-format 14
	git ls-files '*.h' '*.cpp' '*.cu' | xargs -n 40 -P $(JOBS) clang-format -i

.PHONY: check-format
check-format: deps-format ## say which sources `make format` would change
	git ls-files '*.h' '*.cpp' '*.cu' | xargs -n 40 -P $(JOBS) clang-format --dry-run -Werror

.PHONY: lint
lint: build deps-style ## run clang-tidy over everything that was compiled
	git ls-files 'libsynctrace/*.cpp' 'cli/*.cpp' | xargs -n 1 -P $(JOBS) clang-tidy -p build/release --quiet

.PHONY: install
install: build ## install into PREFIX (/usr/local); DESTDIR is honoured
	cmake --install build/release --prefix $(PREFIX)

.PHONY: clean
clean: ## remove build/ and dist/
	rm -rf build dist

# Installs the packages that are missing where that is allowed; else prints the command and stops.
.PHONY: deps deps-clang deps-browser deps-packages deps-launchers deps-clickhouse deps-aarch64 deps-format deps-style
deps: NEEDED = $(PACKAGES)
deps-clang: NEEDED = $(CLANG_PACKAGES)
deps-browser: NEEDED = $(BROWSER_PACKAGES)
deps-packages: NEEDED := $(PACKAGES_PACKAGES)
deps-launchers: NEEDED := $(LAUNCHER_PACKAGES)
deps-clickhouse: NEEDED = $(CLICKHOUSE_PACKAGES)
deps-aarch64: NEEDED := $(AARCH64_PACKAGES)
deps-aarch64: build/aarch64-libraries
deps-format: NEEDED := $(FORMAT_PACKAGES)
deps-style: NEEDED := $(STYLE_PACKAGES)
deps deps-clang deps-browser deps-packages deps-launchers deps-clickhouse deps-aarch64 deps-format deps-style:
	if ! command -v dpkg > /dev/null; then
	  echo "synctrace: not a Debian system, so nothing is installed. Needed: $(NEEDED)" >&2
	  exit 0
	fi
	missing=()
	for package in $(NEEDED); do
	  dpkg-query -W -f '$${Architecture} $${Status}\n' "$$package" 2> /dev/null | grep -Eq "^(all|$$(dpkg --print-architecture)) .* installed$$" \
	    || missing+=("$$package")
	done
	if (($${#missing[@]} == 0)); then exit 0; fi
	install=(env DEBIAN_FRONTEND=noninteractive DEBCONF_NOWARNINGS=yes apt-get -o DPkg::Lock::Timeout=120
	  install -y -qq --no-install-recommends "$${missing[@]}")
	if ((EUID == 0)); then
	  as_root=()
	elif sudo -n true 2> /dev/null; then
	  as_root=(sudo -n)
	else
	  echo "synctrace: packages are missing, and installing them needs root. Please run:" >&2
	  echo "  sudo apt-get install -y --no-install-recommends $${missing[*]}" >&2
	  exit 2
	fi
	echo "synctrace: installing $${missing[*]}"
	"$${as_root[@]}" apt-get update -qq || true  # an out-of-date list may still do
	"$${as_root[@]}" "$${install[@]}" > /dev/null

# Taken apart, not installed, and found by lists of their own: a machine of two architectures has packages twice, which other
# installations stumble over. Ubuntu's usual servers do not have them.
build/aarch64-libraries:
	apt=$$(mktemp -d)
	trap 'rm -rf "$$apt"' EXIT
	mkdir -p "$$apt"/lists/partial "$$apt"/cache/archives/partial
	settings=(APT::Architecture=arm64 APT::Architectures=arm64 APT::Sandbox::User=root Acquire::Languages=none
	  Dir::State::Lists="$$apt/lists" Dir::State::status=/dev/null Dir::Cache="$$apt/cache")
	get=(apt-get -qq "$${settings[@]/#/-o}")
	echo "synctrace: fetching $(AARCH64_LIBRARIES) for aarch64"
	if ! { "$${get[@]}" update && (cd "$$apt" && "$${get[@]}" download $(AARCH64_LIBRARIES)); } > /dev/null; then
	  echo "synctrace: the sources of packages of this machine do not give these for architecture arm64." >&2
	  exit 2
	fi
	mkdir -p $@.partial
	for archive in "$$apt"/*.deb; do dpkg -x "$$archive" $@.partial; done
	mv $@.partial $@
