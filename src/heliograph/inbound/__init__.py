"""Takes texts that handsets send to our numbers: stores each once, whole, before its carrier is
answered.
"""

from heliograph.inbound.numbers import (
    OwnNumber,
    add_number,
    all_numbers,
    as_number_record,
    find_numbers,
    give_back_numbers,
    number_of_carrier,
    number_with_id,
    numbers_page,
    remove_carrier_and_numbers,
    remove_number,
    set_catch_all,
    set_keyword_rules,
)
from heliograph.inbound.read import (
    InboundText,
    any_inbound_text,
    as_inbound_record,
    inbound_page,
    inbound_text,
    newest_inbound,
)
from heliograph.inbound.retention import erase_some_inbound
from heliograph.inbound.written_sender import WrittenSender, international
from heliograph.messages.read import INBOUND_PREFIX

__all__ = [
    "INBOUND_PREFIX",
    "InboundText",
    "OwnNumber",
    "WrittenSender",
    "add_number",
    "all_numbers",
    "answered_text",
    "any_inbound_text",
    "api",
    "as_inbound_record",
    "as_number_record",
    "conversations",
    "erase_some_inbound",
    "find",
    "find_numbers",
    "give_back_numbers",
    "inbound_page",
    "inbound_text",
    "international",
    "keywords",
    "newest_inbound",
    "number_of_carrier",
    "number_with_id",
    "numbers_page",
    "receive",
    "remove_carrier_and_numbers",
    "remove_number",
    "set_catch_all",
    "set_keyword_rules",
    "texts_file",
]
