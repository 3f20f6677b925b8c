# SPDX-License-Identifier: GPL-2.0
"""Makes the laboratory's modules importable: import this before them."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
