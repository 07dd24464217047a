"""`override`, which `typing` has from Python 3.12 on, for those who have not."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

__all__ = ["override"]

if sys.version_info >= (3, 12):
    from typing import override
elif TYPE_CHECKING:
    from typing_extensions import override
else:

    def override(method):  # noqa: ANN001, ANN201 - checkers never see it
        """Mark a method that replaces one of its base class."""
        return method
