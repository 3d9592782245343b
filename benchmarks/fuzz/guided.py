"""One target with atheris, which follows the branches of our code: its name, and options of it."""

import importlib
import sys

atheris = importlib.import_module("atheris")  # it has no types, and may not be there

with atheris.instrument_imports(include=["gossamer"]):
    from benchmarks.fuzz.targets import TARGETS

if __name__ == "__main__":
    atheris.Setup([sys.argv[0], *sys.argv[2:]], TARGETS[sys.argv[1]])
    atheris.Fuzz()
