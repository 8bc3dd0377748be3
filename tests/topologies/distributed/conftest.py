"""TensorFlow warns while it is imported, which tests count as an error, so it is imported here."""

import contextlib
import os
import warnings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

with warnings.catch_warnings(), contextlib.suppress(ImportError):
    warnings.simplefilter("ignore")
    import reverb  # noqa: F401
