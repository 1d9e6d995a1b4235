"""No carrier ever sees more than its rate in any second, nor more than a quarter second's worth at
once.
"""

from math import ceil

from hypothesis import given
from hypothesis import strategies as st

from heliograph.carriers.smpp.send_rate import BURST_S, Pace


@given(
    st.one_of(st.integers(1, 500).map(float), st.floats(0.1, 50)),
    st.lists(
        st.tuples(st.floats(0, 0.4), st.integers(0, 200), st.booleans()), min_size=1, max_size=150
    ),
)
def test_no_second_holds_more_than_the_rate(
    tps: float, turns: list[tuple[float, int, bool]]
) -> None:
    now_s, sent = 1_000.0, []
    pace = Pace(tps, now_s)
    for pause_s, wanted, throttled in turns:
        now_s += pause_s
        count = min(pace.allowance(now_s), wanted)
        assert 0 <= count <= max(1, tps * BURST_S)
        pace.note_sent(count, now_s)
        sent.append((now_s, count))
        pace.note_answers(0 if throttled else count, count if throttled else 0, now_s)
    for began_s, _ in sent:
        assert sum(count for at_s, count in sent if began_s <= at_s < began_s + 1) <= ceil(tps)
    assert pace.tps is not None
    assert 0 < pace.tps <= tps
