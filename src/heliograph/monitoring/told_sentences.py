"""Writes what is wrong, and what to do about it, as sentences."""


def grouped(number: int) -> str:
    """Returns a number with thin spaces between thousands, as the pages have them."""
    return f"{number:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def capital(words: str) -> str:
    """Returns words as they begin a sentence."""
    return words[:1].upper() + words[1:]


def asked(remedy: str) -> str:
    """Returns what to do as a sentence."""
    wanted = f"Run {remedy}" if remedy.startswith("heliograph ") else capital(remedy)
    return wanted if wanted.endswith((".", "?")) else f"{wanted}."
