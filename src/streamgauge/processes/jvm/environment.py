"""What programs of ours are started with, so that they read paths as we do."""

import sys
from typing import Final

_ANY_LETTER: Final = "C.UTF-8" if sys.platform == "linux" else "en_US.UTF-8"


def locale() -> dict[str, str]:
    """Variables for a JVM that is to find files of any name.

    A JVM spells the names of files as its locale says, and in the locale `C` it knows no letter beyond ASCII. Python
    spells them in UTF-8 there; where it does not, both follow the user's locale.
    """
    return {"LC_ALL": _ANY_LETTER} if sys.getfilesystemencoding() == "utf-8" else {}
