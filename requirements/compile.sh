#!/bin/sh
# Compiles requirements/pyXY.txt for every Python that Mava runs on, and py310-distributed.txt for the
# distributed topology, from pyproject.toml.
#   usage: requirements/compile.sh UV [option of `uv pip compile`, such as --upgrade]...
# One file serves Linux (x86_64, aarch64) and macOS (arm64): each is resolved, from wheels alone,
# and a difference is an error. Launchpad and Reverb have wheels for Linux on x86_64 only.
set -eu
uv=$1
shift
cd "$(dirname "$0")/.."

resolved=$(mktemp -d)
trap 'rm -rf "$resolved"' EXIT
linux=x86_64-manylinux_2_28

# resolve FILE VERSION PLATFORM [option of `uv pip compile`]...
# uv keeps to the versions of an existing output file.
resolve() {
    file=$1 version=$2 output=$resolved/$3.txt platform=$3
    shift 3
    rm -f "$output"
    if [ -f "$file" ]; then cp "$file" "$output"; fi
    "$uv" pip compile pyproject.toml --extra lbf --extra dev \
        --python-version "$version" --python-platform "$platform" --only-binary :all: \
        --generate-hashes --no-emit-index-url --no-emit-find-links --quiet \
        --custom-compile-command "make requirements" --output-file "$output" "$@"
}
keep() {
    cp "$resolved/$linux.txt" "$1"
    echo "$1: $(grep -c '^[a-z]' "$1") packages"
}

for version in 3.10 3.11 3.12 3.13; do
    file=requirements/py$(echo "$version" | tr -d .).txt
    for platform in "$linux" aarch64-manylinux_2_28 aarch64-apple-darwin; do
        resolve "$file" "$version" "$platform" \
            --extra sisl --extra jaxmarl --extra jumanji "$@"
        if ! cmp -s "$resolved/$linux.txt" "$resolved/$platform.txt"; then
            echo "$file: $platform needs other packages than Linux on x86_64:" >&2
            diff "$resolved/$linux.txt" "$resolved/$platform.txt" >&2 || true
            exit 1
        fi
    done
    keep "$file"
done

resolve requirements/py310-distributed.txt 3.10 "$linux" --extra distributed "$@"
keep requirements/py310-distributed.txt
