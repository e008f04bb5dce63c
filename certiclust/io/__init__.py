"""Files: readers that give the rows or one clear sentence about what is wrong, and output that is whole or not there.

The names that commands use are `read`, `Reading`, `Data`, `InputError` and `write_directory`.
"""

from certiclust.io.data import Data, Reading
from certiclust.io.errors import InputError
from certiclust.io.output import check_target, write_directory
from certiclust.io.read import FORMATS, read

__all__ = ["FORMATS", "Data", "InputError", "Reading", "check_target", "read", "write_directory"]
