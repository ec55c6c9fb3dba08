# shellcheck shell=sh disable=SC1090,SC2119,SC2120,SC2154
# Sourced by the commands of this folder: finds a Python that ctk can run on and makes the virtual environment ready.
# POSIX sh, no output on stdout. Needs folder (where this file lies), sets checkout and venv; must not change the working
# directory.

checkout=$(CDPATH='' cd -- "$folder/.." && pwd -P) || exit 3
venv=$checkout/.venv

say() { printf '%s\n' "$*" >&2; }

# environment_is_ready PURPOSE: the environment belongs to this checkout, as it is now. Cheap, because each run asks.
environment_is_ready() {
    [ -x "$venv/bin/python" ] && [ -x "$venv/bin/ctk" ] && [ -f "$venv/ctk-home" ] || return 1
    IFS= read -r home <"$venv/ctk-home" || return 1
    [ "$home" = "$checkout" ] && cmp -s "$checkout/pyproject.toml" "$venv/ctk-$1.toml"
}

# find_python: sets python to a command for Python 3.11 or newer; CTK_PYTHON names the only one to try.
find_python() {
    python=${CTK_PYTHON:-}
    if [ -n "$python" ]; then
        is_new_enough
        return
    fi
    for python in python3 python3.14 python3.13 python3.12 python3.11; do
        if is_new_enough; then return 0; fi
    done
    return 1
}

is_new_enough() { "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

# how_to_get_python [OS-RELEASE]: one sentence for this distribution.
how_to_get_python() {
    release=${1:-/etc/os-release}
    [ -r "$release" ] && . "$release"
    case "${ID:-} ${ID_LIKE:-}" in
    ubuntu*)
        case ${VERSION_ID:-} in
        22.04) echo 'Ubuntu 22.04 ships Python 3.10 as python3. Install a newer one beside it: apt-get install python3.11 python3.11-venv (from universe)' ;;
        1?.* | 20.* | 21.*) echo "Ubuntu $VERSION_ID has no package of Python 3.11. Use a newer release, or install one of your own" ;;
        *) echo 'Install it: apt-get install python3 python3-venv' ;;
        esac
        ;;
    debian*)
        case ${VERSION_ID:-} in
        9 | 10 | 11) echo "Debian $VERSION_ID has no package of Python 3.11. Use Debian 12 or newer, or install one of your own" ;;
        *) echo 'Install it: apt-get install python3 python3-venv' ;;
        esac
        ;;
    *debian*) echo 'Install it: apt-get install python3 python3-venv; where that is older than 3.11: python3.11 python3.11-venv' ;;
    fedora*) echo 'Install it: dnf install python3' ;;
    *rhel* | *centos* | *fedora*) echo 'Enterprise Linux 8 and 9 ship Python 3.6 and 3.9 as python3. Install a newer one beside it: dnf install python3.11' ;;
    *suse*) echo 'Install a newer one beside the stock Python: zypper install python311' ;;
    alpine*) echo 'Install it: apk add python3' ;;
    arch*) echo 'Install it: pacman -S python' ;;
    *) echo "Install it with this system's package manager" ;;
    esac
}

# make_environment_ready PURPOSE: "run" for ctk itself, "test" with what the tests need too. Exits 3 where it cannot.
make_environment_ready() {
    environment_is_ready "$1" && return 0
    if ! find_python; then
        first=${CTK_PYTHON:-python3}
        met=$("$first" -c 'import sys; print("is " + sys.version.split()[0])' 2>/dev/null) || met='does not run'
        say "ctk: cannot start: it needs Python 3.11 or newer, and $first $met."
        say "$(how_to_get_python). Or name another one: CTK_PYTHON=/path/to/python3. Nothing was changed."
        exit 3
    fi
    "$python" "$checkout/scripts/bootstrap.py" "$1" "$checkout" </dev/null >&2 || exit $?
}
