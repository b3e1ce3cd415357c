"""One form for every array that goes into compiled code: each combination of types and flags would be compiled anew."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def still(array: NDArray[Any], dtype: Any = None) -> NDArray[Any]:
    """The array as a read-only view, of the given type if one is named."""
    view = np.ascontiguousarray(array, dtype).view()
    view.flags.writeable = False
    return view
