"""Computes the reference by which a receipt may name its message, whatever id the carrier gave."""


def user_message_reference(message_id: str, part: int) -> int:
    """Returns the 16-bit reference that a submission carries and a receipt may bring back; it is
    the same on each try. It consists of the lowest 12 bits of the message's id and 4 of the part's
    number: a send's messages are numbered in a row, so that any 4,096 of them in succession have
    different ones.
    """
    return (int(message_id[-3:], 16) << 4) | part
