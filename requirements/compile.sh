#!/bin/sh
# Compiles requirements/pyXY.txt for every Python that Mava runs on, from pyproject.toml.
#   usage: requirements/compile.sh UV [option of `uv pip compile`, such as --upgrade]...
# One file serves Linux (x86_64, aarch64) and macOS (arm64): each is resolved, from wheels alone,
# and a difference is an error.
set -eu
uv=$1
shift
cd "$(dirname "$0")/.."

resolved=$(mktemp -d)
trap 'rm -rf "$resolved"' EXIT

for version in 3.10 3.11 3.12 3.13; do
    file=requirements/py$(echo "$version" | tr -d .).txt
    for platform in x86_64-manylinux_2_28 aarch64-manylinux_2_28 aarch64-apple-darwin; do
        output=$resolved/$platform.txt
        # uv keeps to the versions of an existing output file.
        rm -f "$output"
        if [ -f "$file" ]; then cp "$file" "$output"; fi
        "$uv" pip compile pyproject.toml --extra sisl --extra lbf \
            --extra jaxmarl --extra jumanji --extra dev \
            --python-version "$version" --python-platform "$platform" --only-binary :all: \
            --generate-hashes --no-emit-index-url --no-emit-find-links --quiet \
            --custom-compile-command "make requirements" --output-file "$output" "$@"
        if ! cmp -s "$resolved/x86_64-manylinux_2_28.txt" "$output"; then
            echo "$file: $platform needs other packages than Linux on x86_64:" >&2
            diff "$resolved/x86_64-manylinux_2_28.txt" "$output" >&2 || true
            exit 1
        fi
    done
    cp "$resolved/x86_64-manylinux_2_28.txt" "$file"
    echo "$file: $(grep -c '^[a-z]' "$file") packages"
done
