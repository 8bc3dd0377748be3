"""The ``mava`` command. Importing this loads nothing heavy."""
