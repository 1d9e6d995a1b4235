"""Keys are texts: they are made, they are told from mistyped ones, and only certain words may stand
in their permissions.
"""

import re
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.base.errors import InvalidRequest
from heliograph.keys import ALL_PERMISSIONS, parse_permissions
from heliograph.keys.issue import digest, is_well_formed, make_key

BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
KEY = make_key(sandbox=False)
BODY = "sk_live_0123456789ABCDEFGHIJKLMNOPQRSTUV"  # of a key of the former form


def former_key(body: str) -> str:
    value, characters = zlib.crc32(body.encode()), ""
    for _ in range(6):
        value, digit = divmod(value, 62)
        characters = BASE62[digit] + characters
    return body + characters


FORMER = former_key(BODY)


def test_a_key_names_its_mode_and_ends_in_the_checksum_of_what_stands_before() -> None:
    for sandbox, prefix in ((False, "sk_live_"), (True, "sk_test_")):
        key = make_key(sandbox)
        assert key.startswith(prefix)
        assert re.fullmatch("[0-9a-f]{48}", key.removeprefix(prefix))
        assert int(key[-8:], 16) == zlib.crc32(key[:-8].encode())
        assert is_well_formed(key)


def test_a_checksum_has_its_leading_zeros() -> None:
    checksum, body = next(
        (f"{number:08x}", body)
        for body in (f"sk_live_{count:040x}" for count in range(10_000))
        if (number := zlib.crc32(body.encode())) < 16**6
    )
    assert is_well_formed(body + checksum)


def test_keys_of_the_former_form_go_on_being_well_formed() -> None:
    assert is_well_formed(FORMER)
    assert not is_well_formed(FORMER[:-1] + ("0" if FORMER[-1] != "0" else "1"))


def test_no_two_keys_are_equal_and_each_has_its_own_digest() -> None:
    keys = {make_key(sandbox=True) for _ in range(1_000)}
    assert len(keys) == len({digest(key) for key in keys}) == 1_000
    assert all(len(digest(key)) == 32 for key in keys)


@given(
    st.sampled_from([KEY, FORMER]),
    st.integers(0, 45),
    st.sampled_from("0123456789abcdefABCDEFgz_") | st.characters(),
)
def test_a_key_with_one_wrong_character_is_not_well_formed(
    key: str, place: int, character: str
) -> None:
    mistyped = key[:place] + character + key[place + 1 :]
    assert is_well_formed(mistyped) is (mistyped == key)


@given(st.sampled_from([KEY, FORMER]), st.integers(8, 44))
def test_a_key_with_two_neighbours_swapped_is_not_well_formed(key: str, place: int) -> None:
    swapped = key[:place] + key[place + 1] + key[place] + key[place + 2 :]
    assert is_well_formed(swapped) is (swapped == key)


@given(st.text(max_size=60))
def test_other_texts_are_not_well_formed(text: str) -> None:
    assert not is_well_formed(text)


@given(
    st.sets(st.sampled_from(ALL_PERMISSIONS), min_size=1).flatmap(
        lambda names: st.permutations(sorted(names))
    )
)
def test_permissions_are_read_in_any_order_and_kept_in_the_specifications(names: list[str]) -> None:
    assert parse_permissions(" , ".join(names)) == tuple(
        name for name in ALL_PERMISSIONS if name in names
    )


def test_all_means_the_nine() -> None:
    assert parse_permissions("all") == ALL_PERMISSIONS
    assert len(ALL_PERMISSIONS) == 9


@pytest.mark.parametrize("text", ["", "sms.send,", "sms.sent", "all,sms.send", "SMS.SEND"])
def test_a_permission_that_is_none_is_refused_with_those_there_are(text: str) -> None:
    with pytest.raises(
        InvalidRequest,
        match=r"permissions must be all, or some of sms\.send, .*sender_ids\.write; not '",
    ):
        parse_permissions(text)
