"""``python -m mava.cli``."""

import sys

from mava.cli.main import main

sys.exit(main())
