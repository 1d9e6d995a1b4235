"""Finds PHP with Guzzle, and Java: OpenAPI Generator, which runs on Java, makes a client in PHP for
our tests. PHP checks a webhook's signature too.
"""

import shutil
import subprocess
from pathlib import Path
from typing import Final

GUZZLE: Final = Path("/usr/share/php/GuzzleHttp/autoload.php")
PHP_PACKAGES: Final = ("php-cli", "php-curl", "php-mbstring", "php-guzzlehttp-guzzle")
PHP_ADVICE: Final = (
    "PHP with Guzzle is needed: install it (Debian, Ubuntu: sudo apt-get install"
    f" {' '.join(PHP_PACKAGES)})"
)
JAVA_ADVICE: Final = (
    "Java 11 or newer is needed, for OpenAPI Generator: install it (Debian, Ubuntu: sudo apt-get"
    " install default-jre-headless)"
)


def find_php() -> str | None:
    """Returns the PHP that will be used, or None when it, one of its modules, or Guzzle is
    missing.
    """
    php = shutil.which("php")
    if php is None or not GUZZLE.exists():
        return None
    modules = subprocess.run(
        [php, "-m"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    ).stdout.split()
    return php if {"curl", "mbstring"} <= set(modules) else None


def find_java() -> str | None:
    return shutil.which("java")
