# Every command creates the virtual environment, from a lock file with hashes. Needs Python >= 3.11 and Java >= 17.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PROFILE := few
READY := $(VENV)/.ready
# Where it is set, as in many containers, each process compiles every module anew, which a run has seven of.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test check browser prometheus gnuplot fuse docs gallery bench soak lock clean

help: ## list these commands
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-10s %s\n", $$1, $$2}'

demo: $(READY) ## run the scenario `baseline`, shortened, on an embedded broker
	$(BIN)/streamgauge run baseline --set phases.warmup=3s --set phases.measure=10s

test: PROFILE := steady
# Brokers and analyses of hundreds of tests start from archives of their Java classes; without them it takes longer.
test: check browser prometheus gnuplot fuse ## run all tests: `make check`, then every test except the soak tests
	-$(BIN)/streamgauge doctor --prepare >/dev/null
	$(BIN)/pytest -m "timing and not soak" tests/e2e
	@# Most brokers live for seconds here. A JVM that compiles little takes a fifth less of all CPU time for them.
	JDK_JAVA_OPTIONS=-XX:TieredStopAtLevel=1 $(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder --durations=20 \
		-m "(kafka or spark or e2e or prometheus or mock or slow) and not timing and not soak"

check: $(READY) ## run the fast checks: format, lint, types, imports, and the tests of rules
	$(BIN)/ruff format --check src tests benchmarks tools
	$(BIN)/ruff check src tests benchmarks tools
	$(BIN)/lint-imports
	@# Types are checked on one core: the tests use the others meanwhile. Both end before either is believed.
	$(BIN)/mypy & types=$$!; \
	$(BIN)/pytest -n logical --hypothesis-profile $(PROFILE) $$($(BIN)/python -m tests.fast) \
		-m "not kafka and not spark and not e2e and not prometheus and not mock and not slow and not soak"; tests=$$?; \
	wait $$types && exit $$tests

# $(call program,test,package,what for,other way): where the test does not find a program, install it with the package of
# Debian, or in the other way where there is no such package. The unit and the init script of the package are left out,
# so that no service is started, now or at the next boot.
define program
	@$(1) >/dev/null 2>&1 && exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && apt-get install -qq -y --no-install-recommends \
			-o 'DPkg::Options::=--path-exclude=*/systemd/system/$(2)*' \
			-o 'DPkg::Options::=--path-exclude=/etc/init.d/$(2)*' $(2) >/dev/null $(if $(4),|| $(4)); \
	else \
		echo "The tests of $(3) need $(2). On Debian$(if $(4),, or Ubuntu): sudo apt-get install $(2)$(if $(4),. Elsewhere: $(4))"; exit 1; \
	fi
endef

# Ubuntu has Chromium as a snap only, and no package of it.
browser: $(READY) ## find the browser that report tests need; install it if possible
	$(call program,$(BIN)/python -m tools.browser,chromium,reports,$(BIN)/playwright install --with-deps chromium)

prometheus: ## find Prometheus, which tests of metrics need; install it if possible
	$(call program,command -v promtool,prometheus,metrics)

gnuplot: ## find gnuplot, which draws the files of KafkaBench in a test; install it if possible
	$(call program,command -v gnuplot,gnuplot-nox,files of KafkaBench)

# Where it cannot be used, as in many containers, tests prove that faults of a directory are refused.
fuse: ## find fusermount3, which faults of a directory need; install it if possible
	-$(call program,command -v fusermount3,fuse3,faults of a directory)

docs: $(READY) browser ## generate docs/reference from the code, the README's picture from a run, and a site in build/site
	$(BIN)/python -m tools.reference
	$(BIN)/python -m tools.picture
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

gallery: $(READY) browser ## take the pictures of docs/gallery.md, from new runs (a quarter of an hour)
	$(BIN)/python -m tools.gallery build/gallery

bench: $(READY) ## benchmark the tool itself (two hours; the figures of docs/performance.md)
	$(BIN)/python -m benchmarks

soak: $(READY) ## run the soak tests: random interruptions, kills, minutes of load (five hours)
	$(BIN)/pytest -n logical --hypothesis-profile many \
		-m "not kafka and not spark and not e2e and not prometheus and not mock and not soak"
	$(BIN)/pytest -m soak --ignore tests/torture
	$(BIN)/pytest -n 2 -m soak tests/torture

lock: $(READY) ## upgrade the locked dependencies
	$(BIN)/uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes --no-header \
		--no-annotate --upgrade --output-file requirements/lock.txt

clean: ## remove the virtual environment and all caches
	rm -rf $(VENV) build src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis

# uv is installed by pip with its hash; it then installs exactly what the lock says, and the package itself on top.
$(READY): requirements/lock.txt requirements/build.txt requirements/boot.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12"; exit 2; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || \
		{ echo "Python's venv is missing. On Debian or Ubuntu: apt-get install python3-venv"; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/boot.txt
	$(BIN)/uv pip sync --python $(BIN)/python --require-hashes --build-constraint requirements/build.txt \
		requirements/lock.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --build-constraint requirements/build.txt --editable .
	touch $@
