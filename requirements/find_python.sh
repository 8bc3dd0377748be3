#!/bin/sh
# Prints the command, or the path, of a Python of that version: on PATH, where it really runs (a pyenv
# shim may not), else one of pyenv's.
#   usage: requirements/find_python.sh 3.10
set -eu
version=$1

if "python$version" -c '' >/dev/null 2>&1; then
    echo "python$version"
    exit
fi
pattern="^$(echo "$version" | sed 's/\./\\./g')\.[0-9][0-9]*\$"
installed=$(pyenv versions --bare 2>/dev/null | grep "$pattern" | tail -n 1 || true)
if [ -z "$installed" ]; then
    echo "no Python $version here, neither as python$version on PATH nor in pyenv" >&2
    exit 1
fi
PYENV_VERSION=$installed pyenv which python
