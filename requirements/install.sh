#!/bin/sh
# Fills a virtual environment with the pinned packages of its Python, and with this checkout of Mava
# (editable). Does nothing where that is done, and starts afresh where it was interrupted.
#   usage: requirements/install.sh VENV [PYTHON]
# Without PYTHON: that of an existing VENV, else the first of python3, python3.13 ... that suits.
# pip does it, not uv, because only pip reads a user's pip.conf (mirrors, certificates).
set -eu
cd "$(dirname "$0")/.."
venv=$1
wanted=${2:-}
case $venv in /*) ;; *) venv=$PWD/$venv ;; esac

say() { echo "setup: $*"; }
fail() {
    echo "setup: $*" >&2
    exit 1
}
version() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || true; }
pins() { echo "requirements/py$(echo "$1" | tr -d .).txt"; }

# Which Python?
have=$(version "$venv/bin/python")
base=$wanted
if [ -z "$base" ] && [ -n "$have" ]; then
    base=$("$venv/bin/python" -c 'import sys; print(sys._base_executable)')
elif [ -z "$base" ]; then
    for candidate in python3 python3.13 python3.12 python3.11 python3.10; do
        if [ -f "$(pins "$(version "$candidate")")" ]; then base=$candidate && break; fi
    done
    base=${base:-python3}
fi
asked=$(version "$base")
hint="Mava needs Python 3.10 to 3.13; name one with 'make setup PYTHON=python3.11'."
[ -n "$asked" ] || fail "'$base' does not run. $hint"
[ -f "$(pins "$asked")" ] || fail "'$base' is Python $asked. $hint"

# The pinned packages.
wheels=$(pins "$asked")
packages="$asked $(grep -v "#" "$wheels" | cksum) $venv"
if [ "$have" != "$asked" ] || [ "$(cat "$venv/.packages" 2>/dev/null)" != "$packages" ]; then
    if [ -e "$venv" ]; then
        [ -f "$venv/pyvenv.cfg" ] || [ -z "$(ls -A "$venv")" ] ||
            fail "$venv is there and is no virtual environment; remove it, or choose another VENV."
        rm -rf "$venv.old"
        mv "$venv" "$venv.old"
        rm -rf "$venv.old"
    fi
    say "making $venv with Python $asked"
    "$base" -m venv "$venv" ||
        fail "'$base -m venv' failed (on Debian and Ubuntu it needs: apt install python3-venv)."
    say "installing $(grep -c '^[a-z]' "$wheels") pinned packages; this takes one to three minutes"
    "$venv/bin/python" -m pip install -qq --disable-pip-version-check --no-input \
        --require-hashes --no-deps --only-binary :all: --requirement "$wheels"
    echo "$packages" >"$venv/.packages"
fi

# Mava itself.
project=$(cksum <pyproject.toml)
if [ "$(cat "$venv/.project" 2>/dev/null)" != "$project" ]; then
    say "installing this checkout of Mava (editable)"
    "$venv/bin/python" -m pip install -qq --disable-pip-version-check --no-input \
        --no-deps --no-build-isolation --editable .
    echo "$project" >"$venv/.project"
    say "done; $1/bin/mava and $1/bin/python are ready"
fi
