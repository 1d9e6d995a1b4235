"""Makes a throwaway copy of this machine, which has its files below an overlay, and a network and
processes of its own. What is done there is gone with it.

Its PostgreSQL is a fresh cluster of Debian's, its Redis and HAProxy are the real programs, all at
their usual ports. There is no systemd in it: `systemctl` and `systemd-run` are a script that starts
what a unit says, as its user, with its environment, again when it ends.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.services import ServiceMissing
from tests.support.sources import ROOT

NEEDED = (
    "unshare",
    "runuser",
    "pg_createcluster",
    "redis-server",
    "redis-cli",
    "haproxy",
    "openssl",
    "curl",
    "ip",
    "ss",
    "systemd-sysusers",
    "systemd-tmpfiles",
)
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
WITHIN_S = 400

SUDO = """#!/bin/sh
[ "$1" = -u ] || exit 2
user=$2; shift 2
home="$(getent passwd "$user" | cut -d: -f6)"
exec runuser -u "$user" -- env -i PATH="$PATH" LANG=C.UTF-8 HOME="$home" "$@"
"""

SYSTEMCTL = r"""#!/bin/bash
# What the documentation asks of it, for units of heliograph and haproxy.
mkdir -p /run/units
file_of() { local at=${1/@*/@}; echo "/etc/systemd/system/$at.service"; }
word_of() { sed -n "s/^$2=//p" "$(file_of "$1")" | sed "s/%i/${1#*@}/g"; }
run() {
    while [ -e "/run/units/$1.on" ]; do
        runuser -u "$(word_of "$1" User)" -- env -i PATH="$PATH" \
            $(word_of "$1" Environment) $(grep = /etc/heliograph.env) \
            $(word_of "$1" ExecStart) >> "/run/units/$1.log" 2>&1 < /dev/null &
        echo $! > "/run/units/$1.pid"
        wait $!
        sleep 2
    done
}
start() {
    if [ "$1" = haproxy ]; then
        mkdir -p /run/haproxy
        haproxy -W -D -f /etc/haproxy/haproxy.cfg > /run/units/haproxy.log 2>&1; return
    fi
    [ -f "$(file_of "$1")" ] || { echo "There is no unit $1" >&2; exit 5; }
    rm -f "/run/units/$1.pid"
    touch "/run/units/$1.on"
    run "$1" > /dev/null 2>&1 < /dev/null &
    until [ -s "/run/units/$1.pid" ]; do sleep 0.1; done
    sleep 0.5
}
main_pid() { pgrep -P "$(cat "/run/units/$1.pid")" || cat "/run/units/$1.pid"; }
stop() {
    [ -e "/run/units/$1.on" ] || return 0
    rm "/run/units/$1.on"
    local pid; pid=$(main_pid "$1"); kill -TERM $pid || return 0
    for _ in $(seq 350); do kill -0 $pid 2> /dev/null || return 0; sleep 0.1; done
    echo "$1 did not end" >&2; exit 1
}
verb=$1; shift
[ "${1-}" = --now ] && shift
case $verb in
    daemon-reload) ;;
    enable|start) for unit; do start "$unit"; done ;;
    restart) for unit; do stop "$unit"; start "$unit"; done ;;
    stop) cd /run/units && for unit in $1.on; do stop "${unit%.on}"; done ;;
    kill) kill -KILL $(main_pid "$2") ;;
    is-active) kill -0 $(main_pid "$1") && echo active ;;
    *) echo "systemctl $verb is not done here" >&2; exit 1 ;;
esac
"""

SYSTEMD_RUN = """#!/bin/sh
unit=${1#--unit=}
shift 3
runuser -u heliograph -- "$@" > /dev/null 2>&1 < /dev/null &
echo "Running as unit: $unit.service"
"""

BEGIN = f"""set -eu
mount --make-rprivate /
mount -t tmpfs overlay "$AT"
mkdir "$AT/upper" "$AT/work" "$AT/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$AT/upper,workdir=$AT/work" "$AT/root"
mount -t proc proc "$AT/root/proc"
mount --rbind /dev "$AT/root/dev"
mount --rbind /sys "$AT/root/sys"
mount -t tmpfs run "$AT/root/run"
install -m 0644 "$SCRIPT" "$AT/root/run/script"
ip link set lo up
exec chroot "$AT/root" env -i PATH={PATH} LANG=C.UTF-8 HOME=/root bash -eu -o pipefail /run/script
"""

PREPARE = """
for folder in {readable}; do
    while [ "$folder" != / ]; do chmod a+rx "$folder"; folder=$(dirname "$folder"); done
done
rm -rf /etc/postgresql /var/lib/postgresql /etc/heliograph.env /opt/heliograph*
install -d -o postgres -g postgres /var/lib/postgresql /run/postgresql
pg_createcluster "$(ls /usr/lib/postgresql | sort -n | tail -1)" main --start > /dev/null
redis-server --daemonize yes --bind 127.0.0.1 --save '' --dir /run > /dev/null
"""


def _file(name: str, text: str) -> str:
    return (
        f"mkdir -p {Path(name).parent}\ncat > {name} <<'END_OF_FILE'\n{text}END_OF_FILE\nchmod 755"
        f" {name}\n"
    )


def run(script: str, directory: Path) -> str:
    """Returns what the script printed, standard error included, as root on a fresh copy at the top
    of the checkout, where the service is installed and its units are not. Raises AssertionError
    with all of it when a command fails; ServiceMissing when there can be no such copy.
    """
    missing = [program for program in NEEDED if shutil.which(program, path=PATH) is None]
    if os.geteuid() != 0 or missing:
        raise ServiceMissing(
            "A copy of this machine takes root, and on Debian all that `make services` installs;"
            f" missing: {missing or 'root'}"
        )
    python = Path(sys.executable)
    program = f'#!/bin/sh\nPYTHONPATH={ROOT}/src exec {python} {python.parent}/heliograph "$@"\n'
    whole = "".join(
        (
            PREPARE.format(readable=f"{ROOT}/src {python.parent} {sys.base_prefix}/bin"),
            _file("/usr/local/sbin/sudo", SUDO),
            _file("/usr/local/sbin/systemctl", SYSTEMCTL),
            _file("/usr/local/sbin/systemd-run", SYSTEMD_RUN),
            _file("/opt/heliograph-0.2.0/bin/heliograph", program),
            (
                "ln -sfn heliograph-0.2.0 /opt/heliograph\nln -sfn /opt/heliograph/bin/heliograph"
                " /usr/local/bin/heliograph\n"
            ),
            f"hash -r\ncd {ROOT}\n",
            script,
        )
    )
    at, log, commands = directory / "machine", directory / "log", directory / "script"
    at.mkdir()
    commands.write_text(whole, "utf-8")
    with log.open("wb") as out:
        done = subprocess.run(
            ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "bash", "-c", BEGIN],
            stdin=subprocess.DEVNULL,
            env={"AT": str(at), "SCRIPT": str(commands), "PATH": PATH},
            stdout=out,
            stderr=out,
            timeout=WITHIN_S,
            check=False,
        )
    printed = log.read_text("utf-8", errors="replace")
    assert done.returncode == 0, printed[-6_000:]
    return printed
