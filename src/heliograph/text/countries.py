"""Lists the countries of ISO 3166-1 and the three territories beside them that have telephone
numbers (docs/api.md, "Countries and currencies").
"""

from typing import Any, Final

from heliograph.base.forms import quote_value

_ISO_3166_1: Final = """
    AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR
    BS BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ
    EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW
    GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY
    KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV
    MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY
    QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG
    TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM
    ZW
"""

# Kosovo (+383), Ascension (+247) and Tristan da Cunha (+290 8) have numbering plans and codes in
# general use, but no ISO 3166-1 entry. They count as countries here, so that every country we
# answer for a number can also be given to us: in a rate, an allowed list, a contact.
_BESIDE_ISO: Final = frozenset({"AC", "TA", "XK"})

_COUNTRIES: Final = frozenset(_ISO_3166_1.split()) | _BESIDE_ISO


def country_codes() -> frozenset[str]:
    """Returns all country codes that are accepted, upper case: the 249 of ISO 3166-1 alpha-2, and
    AC, TA, XK.
    """
    return _COUNTRIES


def country(raw: str) -> str | None:
    """Returns the country code that `raw` means, in upper case, or None when it means no country.
    Any case is accepted; nothing else is forgiven.
    """
    # isascii, because case-folding alone would let ß pass for SS (South Sudan) and a dotless ı for
    # I
    code = raw.upper() if len(raw) == 2 and raw.isascii() else ""
    return code if code in _COUNTRIES else None


def read_country(value: Any) -> str:
    """Reads the country code that a field means, for `Form.value`. Raises ValueError."""
    found = country(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError(f"must be an ISO 3166-1 alpha-2 code such as GH, not {quote_value(value)}")
    return found
