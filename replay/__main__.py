"""The command ``replay`` as ``python -m replay``; it is implemented in `analyses.cli`."""

from runpy import run_module

if __name__ == "__main__":
    run_module("analyses.cli", run_name="__main__", alter_sys=True)
