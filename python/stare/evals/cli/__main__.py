"""`python -m stare.evals.cli`: the command `stare-eval` where no script is installed."""

import sys

from stare.evals.cli import main

if __name__ == "__main__":
    sys.exit(main())
