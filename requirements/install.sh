#!/bin/sh
# Fills a virtual environment with the pinned packages of its Python, and with this checkout of Mava
# (editable). Does nothing where that is done, and starts afresh where it was interrupted.
#   usage: requirements/install.sh VENV [PYTHON [distributed]]
# Without PYTHON, or with an empty one: that of an existing VENV, else the first of python3, Python
# 3.13, 3.12 ... that suits. With `distributed`: the packages of the distributed topology.
# Ends with status 3 where PYTHON is not named and none that suits is found.
# pip does it, not uv, because only pip reads a user's pip.conf (mirrors, certificates).
set -eu
cd "$(dirname "$0")/.."
venv=$1
wanted=${2:-}
kind=${3:-}
case $venv in /*) ;; *) venv=$PWD/$venv ;; esac
if [ "$kind" = distributed ]; then
    hint="The distributed topology needs Python 3.10 on Linux x86_64; name one with"
    hint="$hint 'make setup-distributed DISTRIBUTED_PYTHON=/path/to/python3.10'."
else
    hint="Mava needs Python 3.10 to 3.13; name one with 'make setup PYTHON=python3.11'."
fi

say() { echo "setup: $*"; }
fail() {
    echo "setup: $*" >&2
    exit "${status:-1}"
}
version() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || true; }
pins() { echo "requirements/py$(echo "$1" | tr -d .)${kind:+-$kind}.txt"; }
first_that_suits() {
    if [ -f "$(pins "$(version python3)")" ]; then echo python3 && return; fi
    for number in 3.13 3.12 3.11 3.10; do
        [ -f "$(pins $number)" ] || continue
        if sh requirements/find_python.sh $number 2>/dev/null; then return; fi
    done
    return 1
}

# Which Python?
if [ "$kind" = distributed ] && [ "$(uname -sm)" != "Linux x86_64" ]; then
    status=3 fail "this is $(uname -sm). $hint"
fi
have=$(version "$venv/bin/python")
base=$wanted
if [ -z "$base" ] && [ -n "$have" ]; then
    base=$("$venv/bin/python" -c 'import sys; print(sys._base_executable)')
elif [ -z "$base" ]; then
    base=$(first_that_suits) || status=3 fail "no Python that suits. $hint"
fi
asked=$(version "$base")
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
