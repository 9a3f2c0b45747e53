# Everything here also works by hand: the README gives the plain commands.
PYTHON  ?= python3
VENV    ?= .venv
WORKERS ?= 2
PEERS   ?= torch==2.13.0 transformers==5.23.0 scikit-learn==1.9.1 optax==0.2.8 protobuf==7.36.2 mpi4py==4.1.2 mpich==5.0.2 distributed==2026.8.0 nbgrader==0.9.6 onednn-cpu-gomp==2023.2.0 numba==0.68.1 nvidia-cuda-nvrtc==13.5.37 nvidia-cuda-runtime==13.5.37

BIN    := $(VENV)/bin
PARITY := .venv-parity
PIP    := -m pip install --quiet --disable-pip-version-check
LATER   = $(if $(findstring parity,$*),--no-compile)  # Python compiles what is imported, a quarter of it
export OMP_NUM_THREADS ?= 1
unexport PYTHONDONTWRITEBYTECODE  # some thousand processes would compile the library again

.PHONY: help setup parity-setup demo test slow check course notebooks site lint parity golden bench lock clean

help:
	@echo "make demo     set up .venv, make a corpus, train a small ALBERT and show what it learnt: some two minutes, and the set-up's"
	@echo "make setup    set up .venv, some 700 MB, and no more: two minutes the first time; then: . .venv/bin/activate"
	@echo "make test     set up .venv, run the tests and check every gradient: some five minutes"
	@echo "make check    all that a change must pass: style, parity, the slow tests (planted mistakes, kills, damaged files, sanitizers, notebooks, site), then make test"
	@echo "make course   build the exercises for students, instructors, nbgrader, Gradescope and GitHub Classroom; WITHOUT_SOLUTIONS=1: what may be published"
	@echo "make notebooks  run every notebook and keep what it prints; ONLY=04 for one"
	@echo "make site     build the pages for a browser: notebooks, walkthrough, course, reference: half a minute"
	@echo "make lint     check style"
	@echo "make parity   compare with transformers and PyTorch, and build data under MPI and Dask, in .venv-parity"
	@echo "make bench    time and weigh training steps against PyTorch, in .venv-parity: some four minutes"
	@echo "make golden   write tests/golden and the exercises' numbers from outside, in .venv-parity"
	@echo "make lock     pin the newest packages in requirements.lock (needs uv)"
	@echo "make clean    remove the environments and caches"

setup: $(VENV)/.ready
parity-setup: $(PARITY)/.ready

%/.ready: requirements.lock pyproject.toml
	@$(PYTHON) -c "import sys; v = sys.version_info; sys.exit(v < (3, 11) and 'minalbert needs Python 3.11 or later, this is %d.%d: make PYTHON=python3.12' % v[:2])"
	@echo "setting up $*: some two minutes$(if $(findstring parity,$*), and several more for PyTorch)"
	@$(PYTHON) -m venv --clear $*
	@$*/bin/python $(PIP) $(LATER) --require-hashes -r requirements.lock
	@$*/bin/python $(PIP) --no-deps --no-build-isolation -e .
	@$*/bin/python -m compileall -q minalbert exercises  # for processes that may read compiled files and write none
	@$(if $(findstring parity,$*),$*/bin/python $(PIP) $(LATER) $(PEERS))
	@touch $@

demo: setup
	@$(BIN)/python -m minalbert demo

test: setup
	$(BIN)/python -m pytest --gradcheck -m "not slow" -n $(WORKERS)

slow: setup
	$(BIN)/python -m pytest -m slow -n $(WORKERS)

check: lint parity slow test

course: setup
	$(BIN)/python -m exercises.build catalogue
	$(BIN)/python -m exercises.build $(if $(WITHOUT_SOLUTIONS),public,course) $(if $(TERM_FILE),--term-file $(TERM_FILE))

notebooks: setup
	$(BIN)/python notebooks/build.py $(ONLY)

site: setup
	$(BIN)/python docs/site.py

lint: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/python tests/english.py

parity: $(PARITY)/.ready
	$(PARITY)/bin/python -m pytest -n $(WORKERS) tests/parity tests/test_build.py tests/test_bf16.py tests/test_compiled.py tests/test_compiled_optimisers.py tests/test_implementations.py tests/cuda/test_compile.py
	$(PARITY)/bin/python -m pytest -n $(WORKERS) -m slow tests/test_mutations.py -k compiled

golden: $(PARITY)/.ready
	$(PARITY)/bin/python tests/golden/make.py
	$(PARITY)/bin/python -m exercises.outside

bench: $(PARITY)/.ready
	$(PARITY)/bin/python benchmarks/report.py --quick

lock:
	uv pip compile pyproject.toml --extra grade --extra notebooks --extra train --extra dev --extra site --universal --python-version 3.11 \
	  --generate-hashes --no-header --no-annotate --no-emit-index-url --upgrade --quiet -o requirements.lock

clean:
	rm -rf $(VENV) $(PARITY) .pytest_cache .ruff_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
