"""What the documentation tells a reader to type works."""

import re
from pathlib import Path

import pytest

from tests.support.documents import DocumentFailed, blocks, run
from tests.support.sources import ROOT

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_block_of_a_document_runs(document: Path, tmp_path: Path) -> None:
    run(document, tmp_path)


def fragments() -> list[tuple[str, str]]:
    """Returns each block that is said to be a fragment of a file, with that file's path below the
    package.
    """
    recipes = (ROOT / "docs" / "recipes.md").read_text("utf-8")
    return [
        (named[1], block.code)
        for block in blocks(recipes)
        if (named := re.fullmatch(r"not run: a fragment of (\S+\.py)", block.comment))
    ]


def test_a_fragment_of_a_file_stands_in_it() -> None:
    found = fragments()
    assert len(found) >= 4
    for path, code in found:
        source = (ROOT / "src" / "heliograph" / path).read_text("utf-8").splitlines()
        there = [line.strip(" ,") for line in source]
        for line in filter(None, (line.strip(" ,") for line in code.splitlines())):
            assert line in there, f"{path} has no line {line!r}"
            there = there[there.index(line) + 1 :]


def _document(directory: Path, text: str) -> Path:
    document = directory / "guide.md"
    document.write_text(text, "utf-8")
    (directory / "run").mkdir()
    return document


def test_a_document_is_one_session_beside_its_server(tmp_path: Path) -> None:
    document = _document(
        tmp_path,
        """
<!-- not run: it would never end -->
```sh
sleep 1000000
```
<!-- background -->
```sh
touch readyz
exec python -m http.server --bind $(echo 127.0.0.1:8080 | tr : ' ')
```
1. Indented, in a list:

   ```bash
   export ANSWER=$(curl -s -o /dev/null -w '%{http_code}' http://localhost:8080/readyz)
   ```
```python
import os
print(open("here", "w").write(os.environ["ANSWER"]))
```
```json
{"not": "run"}
```
""",
    )
    run(document, tmp_path / "run")
    assert (tmp_path / "run" / "here").read_text() == "200"


def test_a_block_that_fails_is_named_by_its_line(tmp_path: Path) -> None:
    document = _document(
        tmp_path, "```sh\ntrue\n```\n\n```sh\necho was here\nfalse\necho not here\n```\n"
    )
    with pytest.raises(DocumentFailed, match=r"(?s)exit status 1.*--- guide\.md:5\nwas here\n$"):
        run(document, tmp_path / "run")


def test_a_block_is_not_left_out_without_a_reason(tmp_path: Path) -> None:
    document = _document(tmp_path, "<!-- not run -->\n```sh\ntrue\n```\n")
    with pytest.raises(DocumentFailed, match=r"guide\.md:2: why is it not run\?"):
        run(document, tmp_path / "run")


def test_a_file_that_the_reader_saves_is_there_before_the_first_block(tmp_path: Path) -> None:
    document = _document(
        tmp_path,
        """
```sh
python hello.py > here
```
<!-- file: hello.py -->
```python
print("127.0.0.1:8080")
```
""",
    )
    run(document, tmp_path / "run")
    assert (tmp_path / "run" / "here").read_text() == "127.0.0.1:8080\n"


def test_a_program_of_another_language_is_a_file(tmp_path: Path) -> None:
    document = _document(tmp_path, "```js\nlet a;\n```\n")
    with pytest.raises(DocumentFailed, match=r"guide\.md:1: which file is it\?"):
        run(document, tmp_path / "run")
