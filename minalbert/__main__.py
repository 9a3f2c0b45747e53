"""`python -m minalbert`"""

import sys

from .commands import main

sys.exit(main())
