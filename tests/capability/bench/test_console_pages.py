"""The bench asks for every page of the console, so it has a record for each of them."""

from string import Formatter

from bench.console_pages import OTHERS, RECORDS, paths


def test_there_is_a_record_for_each_parameter_of_a_page() -> None:
    parameters = {name for path in paths() for _, name, _, _ in Formatter().parse(path) if name}
    assert "event" in parameters
    assert parameters <= {*RECORDS, *OTHERS}
