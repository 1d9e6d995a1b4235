"""Our segments agree with another implementation: the tables of `gsmcodecs`, which others wrote,
and a plain loop over characters.
"""

# it has no types, and two of its methods are called
import gsmcodecs  # type: ignore[import-untyped]

from heliograph.text.segments import count, gsm7_octets, gsm7_text, split

BASIC = (
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ"
    " !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§"
    "¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
EXTENSION = "\f^{}\\[~]|€"

LANGUAGES = [
    "Your Heliograph code is 482913. It expires in 5 minutes.",
    (
        "Hello {customer_name}, order #{order_id} [paid] is on its way:"
        " https://example.com/t?a=1&b=2~x_y|z"
    ),
    "Akwaaba! Wo nkrasɛm no aba. Yɛda wo ase.",
    "Ẹ káàárọ̀, àkọsílẹ̀ yín ti parí.",
    "Habari, salio lako ni KSh 1,250.00 leo saa 10:45.",
    "Sannu, kuɗin ku ₦5,000 sun shigo.",
    "Chère cliente, votre colis est arrivé à destination, où êtes-vous ?",
    "Voilà : réglé à l'été, càd déjà payé.",
    "Ihre Bestellung für 12,50 € wurde geprüft. Grüße aus Köln, ÄÖÜ äöü ß",
    "¿Dónde estás? ¡Mañana llega tu pedido número 7!",
    "O código é 123456. Não o partilhe; ação não reversível.",
    "Perché no? È già lì: così è più facile, ciò che verrà.",
    "Smørrebrød på Åse, ærlig talt; ØÆÅ øæå",
    "Þetta er íslenska með ð og þ.",
    "Zażółć gęślą jaźń",
    "Příliš žluťoučký kůň úpěl ďábelské ódy",
    "İstanbul'da ılık bir gün: ğüşiöç",
    # Latin and Greek capitals share shapes; the Greek ones are not in the alphabet
    "ΓΕΙΑ ΣΟΥ: ΔΩΡΕΑΝ ΠΑΡΑΔΟΣΗ",
    "ΔΦΓΛΩΠΨΣΘΞ",
    "Καλημέρα, η παραγγελία σας είναι έτοιμη.",
    "Ваш код подтверждения: 482913",
    "Ваш заказ отправлен и будет доставлен завтра до 18:00. Спасибо, что выбрали нас!",
    "رمز التحقق الخاص بك هو 482913",
    "קוד האימות שלך הוא 482913",
    "आपका सत्यापन कोड 482913 है",
    "আপনার যাচাইকরণ কোড ৪৮২৯১৩",
    "உங்கள் சரிபார்ப்பு குறியீடு 482913",
    "รหัสยืนยันของคุณคือ 482913",
    "የማረጋገጫ ኮድዎ 482913 ነው",
    "您的验证码是482913，五分钟内有效。",
    "確認コードは482913です。",
    "인증번호는 482913입니다.",
    "Order shipped 🚚📦 thanks ❤️",
    "👩‍👩‍👧‍👦👍🏽🇬🇭 family, skin tone, flag",
    "𝓗𝓮𝓵𝓵𝓸 in mathematical letters",
    "e\u0301 composed of two, \u00e9 of one",
    "“Smart” quotes – and dashes… from a word processor’s keyboard",
    "Zero\u200bwidth and no\u00a0break spaces",
    "tab\tand back`tick",
    "line\none\r\nline two\fnew page",
    " ",
]

BOUNDARIES = [
    *("a" * length for length in (1, 152, 153, 154, 159, 160, 161)),
    *("a" * (153 * parts + more) for parts in range(2, 12) for more in (-1, 0, 1)),
    *("é" * (153 * parts + more) for parts in (2, 10) for more in (-1, 0, 1)),
    *("я" * length for length in (1, 66, 67, 68, 69, 70, 71)),
    *("я" * (67 * parts + more) for parts in range(2, 12) for more in (-1, 0, 1)),
    *("€" * length for length in (79, 80, 81, 152, 153, 154, 760, 765)),
    *("a" * before + "€" * 3 + "a" * 160 for before in range(148, 162)),
    *("😀" * length for length in (34, 35, 36, 66, 67, 68, 330, 335)),
    *("я" * before + "😀" * 3 + "я" * 70 for before in range(62, 72)),
    *(
        "a" * before + "^" + "a" * after
        for before in (151, 152, 153, 157, 158, 159)
        for after in (0, 1, 2, 145)
    ),
]

CORPUS = [
    *LANGUAGES,
    *(text * 8 for text in LANGUAGES),
    *BASIC,
    *EXTENSION,
    BASIC,
    EXTENSION,
    BASIC + EXTENSION,
    (BASIC + EXTENSION) * 10,
    *("a" * 152 + character + "a" * 10 for character in EXTENSION),
    *BOUNDARIES,
]

ALPHABET = gsmcodecs.Codec()


def in_their_alphabet(text: str) -> bool:
    try:
        ALPHABET.encode(text)
    except UnicodeEncodeError:
        return False
    return True


def segmented_by_their_tables(text: str) -> tuple[str, list[str]]:
    """Returns the encoding and the parts, filled one character after another."""
    if in_their_alphabet(text):
        encoding, alone, part_max, sizes = (
            "GSM-7",
            160,
            153,
            [len(ALPHABET.encode(character)[0]) for character in text],
        )
    else:
        encoding, alone, part_max, sizes = (
            "UCS-2",
            70,
            67,
            [2 if ord(character) > 0xFFFF else 1 for character in text],
        )
    if sum(sizes) <= alone:
        return encoding, [text]
    parts, room = [""], part_max
    for character, size in zip(text, sizes, strict=True):
        if size > room:
            parts.append("")
            room = part_max
        parts[-1] += character
        room -= size
    return encoding, parts


def test_every_text_is_counted_and_split_as_another_implementation_does_it() -> None:
    for text in CORPUS:
        encoding, parts = segmented_by_their_tables(text)
        assert count(text) == (encoding, len(parts)), text
        assert split(text, encoding) == parts, text


def test_every_gsm_text_has_the_octets_another_implementation_gives_it() -> None:
    gsm_texts = [text for text in CORPUS if in_their_alphabet(text)]
    assert len(gsm_texts) > len(BASIC + EXTENSION)
    for text in gsm_texts:
        octets, _ = ALPHABET.encode(text)
        assert gsm7_octets(text) == octets, text
        assert ALPHABET.decode(octets)[0] == gsm7_text(octets) == text


def test_no_character_beyond_the_tables_is_taken_for_gsm() -> None:
    for code in (*range(0xD800), *range(0xE000, 0x11000)):
        assert (count(chr(code)).encoding == "GSM-7") == in_their_alphabet(chr(code)), hex(code)
