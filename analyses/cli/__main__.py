"""The command line as ``python -m analyses.cli``."""

from analyses.cli import main

main()
