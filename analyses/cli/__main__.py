"""Run the command line with ``python -m analyses.cli``."""

from analyses.cli import main

if __name__ == "__main__":
    main()
