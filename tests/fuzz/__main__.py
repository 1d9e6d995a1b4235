"""`python -m tests.fuzz` gives octets that nobody would think of to all that reads PDUs and
receipts (`make fuzz`).

atheris steers libFuzzer by what the code does with them. Options are libFuzzer's. Without any it
takes tests/fuzz/corpus and stops after ten minutes; what it finds is written to tests/fuzz/found,
and it ends with a traceback and a status that is not 0.
"""

import sys
from pathlib import Path

import atheris

FOLDER = Path(__file__).parent
SECONDS = 600

with atheris.instrument_imports(
    include=["heliograph.carriers", "heliograph.text", "tests.fuzz.target"]
):
    from tests.fuzz.target import read_anything

if __name__ == "__main__":
    found = FOLDER / "found"
    found.mkdir(exist_ok=True)
    given = sys.argv[1:] or [
        f"-max_total_time={SECONDS}",
        "-max_len=2048",
        "-timeout=5",
        "-rss_limit_mb=1024",
        "-print_final_stats=1",
        f"-artifact_prefix={found}/",
        str(found),
        str(FOLDER / "corpus"),
    ]
    atheris.Setup([sys.argv[0], *given], read_anything)
    atheris.Fuzz()
