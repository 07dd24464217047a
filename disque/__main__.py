"""`python -m disque` is `disque-server`."""

import sys

from disque.cli.serve import main

if __name__ == "__main__":
    sys.exit(main())
