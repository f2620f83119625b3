"""The command line as ``python -m analyses.cli``."""

from analyses.cli import main

if __name__ == "__main__":
    main()
