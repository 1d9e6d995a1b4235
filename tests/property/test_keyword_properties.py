"""A keyword is known however it is written, and nothing near it is taken for it."""

import unicodedata
from random import Random
from typing import Literal, TypeAlias

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from heliograph.inbound.keywords.built_in import (
    BUILT_IN,
    BUILT_IN_WORDS,
    KeywordAction,
    KeywordLanguage,
)
from heliograph.inbound.keywords.fold import _folded_once, fold
from heliograph.inbound.keywords.match import (
    WORDS_MAX,
    KeywordRule,
    candidates,
    is_opt_out_suspected,
    match,
)
from heliograph.inbound.tables import KEYWORD_MAX

Written: TypeAlias = tuple[str, KeywordAction, KeywordLanguage]
Form: TypeAlias = Literal["NFC", "NFD", "NFKC"]
WORDS = [
    (word.strip(), action, language)
    for action, by_language in BUILT_IN_WORDS.items()
    for language, words in by_language.items()
    for word in words.split(",")
]
words = st.sampled_from(WORDS)
opting_out = st.sampled_from([word for word, action, _ in WORDS if action == "opt_out"])
# what people and phones put around a word
around = st.text(" \t\n\r.,;:!?¡¿\"'«»()[]*-_…–\u00a0\u200b\u200f\u202a🛑🙏", max_size=5)
spaces = st.sampled_from([" ", "  ", "\n", "\u00a0", "-", " \u200f"])


@given(st.text())
@example("ı̇")
@example("ﷺ-ﬁ ǅ")
def test_what_is_folded_stays_as_it_is(text: str) -> None:
    folded = fold(text)
    assert fold(folded) == folded
    assert fold(f" «{folded}»! ") == folded
    assert not folded or (folded[0].isalnum() and folded[-1].isalnum())


@given(st.text(st.characters(codec="ascii")))
def test_ascii_is_folded_as_any_text_is(text: str) -> None:
    folded = text
    while (again := _folded_once(folded)) != folded:
        folded = again
    assert fold(text) == folded


@given(words, around, around, spaces, st.sampled_from(["NFC", "NFD", "NFKC"]), st.randoms())
def test_a_word_is_known_however_it_is_written(
    written: Written, before: str, after: str, space: str, form: Form, random: Random
) -> None:
    word, action, language = written
    cased = "".join(random.choice([str.upper, str.lower])(each) for each in word)
    text = before + unicodedata.normalize(form, cased).replace(" ", space) + after
    assert len(text) < 4 * KEYWORD_MAX
    found = match(text, {})
    assert found is not None
    assert (found.word, found.rule) == (fold(word), KeywordRule(action, None, language))
    assert not is_opt_out_suspected(text, found)


@pytest.mark.parametrize("edge", [" ", "\r\n", "!", "\u3164", "\u115f"])
@given(words, st.booleans())
def test_a_word_is_known_however_much_of_nothing_is_around_it(
    edge: str, written: Written, first_word: bool
) -> None:
    """It is known, because there are centres that fill a text up to its greatest length."""
    word, action, _ = written
    many = edge * (160 if edge.isascii() else 5)
    found = [
        match(text, {}, first_word=first_word)
        for text in (word + many, many + word, many + word + many)
    ]
    assert [each and each.rule.action for each in found] == [action] * 3


@given(words)
def test_a_word_is_known_without_its_accents(written: Written) -> None:
    word, action, _ = written
    plain = "".join(
        each for each in unicodedata.normalize("NFD", word) if not unicodedata.combining(each)
    )
    found = match(plain.replace("ɛ", "e").replace("ɔ", "o"), {})
    assert found is not None
    assert found.rule.action == action


@given(opting_out, st.text("abcdefghijklmnopqrstuvwxyz0123456789 توقف", min_size=1), st.data())
def test_what_is_near_a_word_opts_nobody_out(word: str, more: str, data: st.DataObject) -> None:
    """More letters or words at any place, or a letter less, make another text of it."""
    place = data.draw(st.integers(0, len(word)))
    for text in (
        f"{word[:place]}{more}{word[place:]}",
        f"{word} {more}",
        f"{more} {word}",
        word[:place] + word[place + 1 :],
    ):
        if fold(text) not in BUILT_IN:
            assert match(text, {}) is None, text


NEAR = [
    f"{before}{word}{after}"
    for word in ("stop", "STOP", "quit", "end", "cancel", "unsubscribe", "arrêt", "parar", "acha")
    for before, after in (
        ("Don't ", ""),
        ("bus ", "?"),
        ("", " by tomorrow?"),
        ("", " of the road"),
        ("I will not ", " until you pay"),
        ("non", ""),
        ("", "ped"),
        ("Do you ", " at five?"),
    )
]


@pytest.mark.parametrize("text", NEAR)
def test_a_near_miss_is_a_suspicion_at_most(text: str) -> None:
    assert match(text, {}) is None


@given(words, st.text(max_size=40))
def test_a_first_word_counts_only_where_the_number_says_so(written: Written, rest: str) -> None:
    word, _, _ = written
    text = f"{word}! {rest}"
    found = match(text, {}, first_word=True)
    assert found is not None
    # the words that follow may make a longer keyword of it: `stop` and `all`
    assert found.word.startswith(fold(word))
    assume(fold(text) not in BUILT_IN)
    assert match(text, {}) is None


@given(st.text(), st.booleans())
def test_candidates_are_few_and_short(text: str, first_word: bool) -> None:
    found = candidates(text, first_word=first_word)
    assert len(found) <= (WORDS_MAX + 1 if first_word else 1)
    assert all(0 < len(word) <= KEYWORD_MAX and fold(word) == word for word in found)


@given(opting_out, st.sampled_from(KeywordAction))
def test_an_own_keyword_changes_the_answer_of_a_word_that_opts_out_and_nothing_else(
    word: str, action: KeywordAction
) -> None:
    rule = KeywordRule(action, "Bye.", KeywordLanguage.TWI)
    found = match(word, {fold(word): rule})
    assert found is not None
    assert found.rule == KeywordRule(KeywordAction.OPT_OUT, "Bye.", KeywordLanguage.TWI)
    offer = match("Offer!", {"offer": rule})
    assert offer is not None
    assert offer.rule == rule


SUSPECTED = [
    "Please stop texting me",
    "don't message me again",
    "Don’t ever send me this, never call",
    "Leave me alone!!!",
    "remove my number pls",
    "I am not interested",
    "Take me off your list",
    "this is spam",
    "Stop",  # said with a keyword that does nothing
    "pls cancel",
    "s.t.o.p",
    "ST0P",
    "stoppp it",
    "STOOP!!",
    "Unsubscribbe",
    "S T O P",
    "St op",
    "STOP2END",
    "2stop",
    "un-subscribe",
    "I want to cancel my subscription",
    "please end these texts now",
    "get me off of this list",
    "Cease and desist",
    "Halt",
    "Please discontinue",
    "I said desist!",
    "lose my number",
    "You have the wrong number",
    "Arrêtez de m'écrire",
    "Ne m'envoyez plus de messages svp",
    "laissez-moi tranquille",
    "je ne veux plus de vos pubs",
    "merci de ne plus m'envoyer de SMS",
    "Veuillez me retirer de votre liste",
    "je veux résilier mon abonnement",
    "Por favor parem com isso",
    "não quero mais receber",
    "Me deixe em paz",
    "por favor pare de me enviar mensagens",
    "não me mandem mais mensagens",
    "quero sair desta lista por favor",
    "quero cancelar a minha inscrição",
    "لا ترسلوا لي رسائل",
    "من فضلك توقفوا عن الرسائل",
    "احذفوا رقمي",
    "Tafadhali msinitumie tena",
    "sitaki ujumbe wenu",
    "Don Allah ku daina turo mini sako",
    "kar ku turo min sako",
    "Mepa wo kyɛw gyae me",
    "Mepa mo kyɛw munnyae",
    "menpɛ saa nkra yi",
]
INNOCENT = [
    "Where is my order?",
    "Yes please",
    "The end of the month is fine for me",
    "I want to cancel the order of yesterday evening",
    "The second one from the list, please, if there is enough of it",
    "We end the day at five, can you come before?",
    "Merci beaucoup, à demain",
    "Je peux annuler la commande de hier soir ?",
    "Où est ma commande numéro 5 ?",
    "Obrigado, até amanhã",
    "Um bolo para de manhã, e dois para mim",
    "أين طلبي؟",
    "Asante sana",
    "Na gode",
    "Medaase",
    "",
    "👍",
    "Order 12, table 4",
    "C U at 8",
]


@pytest.mark.parametrize("text", SUSPECTED)
def test_who_asks_to_be_left_alone_is_noticed(text: str) -> None:
    assert is_opt_out_suspected(text, None)


@pytest.mark.parametrize("text", INNOCENT)
def test_who_does_not_is_left_alone(text: str) -> None:
    assert not is_opt_out_suspected(text, match(text, {}))
