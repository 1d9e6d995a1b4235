#!/bin/sh
# Installs, from a bare Python: `tools/install.sh uv [PYTHON]` puts uv into .tools, `runtime` and `dev` fill .venv from the locks.
# `build DIRECTORY` makes a wheel and an sdist there, with what tools/build.lock pins.
# Every file that is installed, the tools' own included, is checked against a hash. The Makefile decides when.
set -eu
cd "$(dirname "$0")/.."

# Two that run at once would clear what the other is using: the second one waits (where there is a flock), and finds everything done.
if [ -z "${INSTALL_LOCKED:-}" ] && command -v flock >/dev/null; then
    INSTALL_LOCKED=1 exec flock tools/install.sh tools/install.sh "$@"
fi

fail() {
    printf '\n%s\n\n' "$*" >&2
    exit 1
}

# done_since STAMP FILE…: whether the installation that STAMP stands for is newer than each file that it is made from.
done_since() {
    stamp=$1
    shift
    [ -e "$stamp" ] || return 1
    for file; do
        if [ "$file" -nt "$stamp" ]; then return 1; fi
    done
}

# What Debian and Ubuntu split off Python: without it there are no virtual environments.
install_venv_module() {
    package="python$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv"
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "Installing $package, which $1 needs for virtual environments."
        export DEBIAN_FRONTEND=noninteractive
        said=$({ apt-get update -qq && apt-get install -y -qq "$package"; } </dev/null 2>&1) && return
        printf '%s\n' "$said" >&2
    fi
    fail "$1 cannot make virtual environments. On Debian and Ubuntu: sudo apt-get install $package"
}

install_uv() {
    python=$1
    if done_since .tools/installed tools/uv.lock tools/install.sh; then return; fi
    command -v "$python" >/dev/null || fail "There is no $python here. Install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3 …"
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        fail "$python is $("$python" -V 2>&1); Heliograph needs Python 3.11 or newer. Name another one: make PYTHON=/path/to/python3.11 …"
    "$python" -c 'import ensurepip, venv' 2>/dev/null || install_venv_module "$python"
    echo "Installing uv in .tools ..."
    "$python" -m venv --clear .tools
    .tools/bin/python -m pip install --quiet --disable-pip-version-check --no-input --require-hashes -r tools/uv.lock
    touch .tools/installed
}

# uv does not read pip's configuration; a package mirror or a certificate store that is set up for pip is meant for uv too.
adopt_pip_settings() {
    export UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS:-true}"
    mirror=${PIP_INDEX_URL:-$(.tools/bin/python -m pip config get global.index-url 2>/dev/null || true)}
    if [ -n "$mirror" ] && [ -z "${UV_DEFAULT_INDEX:-}${UV_INDEX_URL:-}" ]; then export UV_DEFAULT_INDEX="$mirror"; fi
}

fill_venv() {
    if done_since ".venv/installed-$1" .tools/installed tools/build.lock "$2" pyproject.toml assets/build.py assets/package-lock.json; then return; fi
    echo "Installing Heliograph and what it needs in .venv ..."
    adopt_pip_settings
    uv=.tools/bin/uv
    .venv/bin/python -c '' 2>/dev/null || $uv venv --quiet --clear --no-python-downloads --python .tools/bin/python .venv
    in_venv="--quiet --python .venv/bin/python"
    case $1 in
    dev) $uv pip sync $in_venv --require-hashes "$2" ;;  # exactly these: what is not locked goes
    runtime) $uv pip install $in_venv --require-hashes -r "$2" ;;  # beside the tools, if they are there
    esac
    $uv pip install $in_venv --no-deps --require-build-hashes --build-constraints tools/build.lock --editable .
    touch ".venv/installed-$1"
}

# UV: another uv than the one of this checkout. What builds is in its cache since the installation, so that the network is asked only without it.
build() {
    adopt_pip_settings
    uv=${UV:-.tools/bin/uv}
    set -- build --quiet --build-constraints tools/build.lock --require-hashes --out-dir "$1"
    $uv "$@" --offline 2>/dev/null || $uv "$@"
}

case ${1:-} in
build) build "${2:-dist}" ;;
uv) install_uv "${2:-python3}" ;;
runtime) fill_venv runtime requirements.lock ;;
dev) fill_venv dev requirements-dev.lock ;;
*) fail "usage: tools/install.sh uv [PYTHON] | runtime | dev | build [DIRECTORY]" ;;
esac
