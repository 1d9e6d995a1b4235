"""Holds the built-in answers to keywords, in the languages of the words."""

from types import MappingProxyType
from typing import Final

from heliograph.inbound.keywords.built_in import KeywordAction, KeywordLanguage

# They name the brand and how to go on. All but Arabic have characters of GSM-7 alone, so that an
# answer with a usual name is one segment.
_ANSWERS: Final = MappingProxyType(
    {
        KeywordAction.OPT_OUT: {
            KeywordLanguage.ENGLISH: (
                "You will get no more texts from {brand}. Reply START to get them again."
            ),
            KeywordLanguage.FRENCH: (
                "Vous ne recevrez plus de SMS de {brand}. Répondez START pour en recevoir."
            ),
            KeywordLanguage.PORTUGUESE: (
                "Deixa de receber SMS de {brand}. Responda START para voltar a receber."
            ),
            KeywordLanguage.ARABIC: "لن تصلك رسائل من {brand}. أرسل START لتصلك من جديد.",
            KeywordLanguage.SWAHILI: "Hutapokea tena SMS kutoka {brand}. Jibu START kuanza tena.",
            KeywordLanguage.HAUSA: (
                "Ba za ku sake samun SMS daga {brand} ba. Amsa START domin sake farawa."
            ),
            KeywordLanguage.TWI: ("Worennya SMS biara mfi {brand} bio. Soma START na woanya bio."),
        },
        KeywordAction.OPT_IN: {
            KeywordLanguage.ENGLISH: (
                "You will get texts from {brand} again. Reply STOP to end them."
            ),
            KeywordLanguage.FRENCH: (
                "Vous recevrez à nouveau les SMS de {brand}. Répondez STOP pour y mettre fin."
            ),
            KeywordLanguage.PORTUGUESE: (
                "Volta a receber SMS de {brand}. Responda STOP para parar."
            ),
            KeywordLanguage.ARABIC: "ستصلك رسائل {brand} من جديد. أرسل STOP لإيقافها.",
            KeywordLanguage.SWAHILI: "Utapokea tena SMS kutoka {brand}. Jibu STOP ili kuacha.",
            KeywordLanguage.HAUSA: "Za ku sake samun SMS daga {brand}. Amsa STOP domin tsayawa.",
            KeywordLanguage.TWI: "Wobenya SMS afi {brand} bio. Soma STOP na egyae.",
        },
        KeywordAction.HELP: {
            KeywordLanguage.ENGLISH: "These texts are from {brand}. Reply STOP to end them.",
            KeywordLanguage.FRENCH: (
                "Ces SMS viennent de {brand}. Répondez STOP pour y mettre fin."
            ),
            KeywordLanguage.PORTUGUESE: "Estes SMS chegam de {brand}. Responda STOP para parar.",
            KeywordLanguage.ARABIC: "هذه الرسائل من {brand}. أرسل STOP لإيقافها.",
            KeywordLanguage.SWAHILI: "SMS hizi zinatoka {brand}. Jibu STOP ili kuacha.",
            KeywordLanguage.HAUSA: "Wannan SMS daga {brand} ne. Amsa STOP domin tsayawa.",
            KeywordLanguage.TWI: "SMS yi fi {brand}. Soma STOP na egyae.",
        },
    }
)


def built_in_answer(
    action: KeywordAction, language: KeywordLanguage | None, brand: str
) -> str | None:
    """Returns what a keyword is answered with that has no reply of its own, or None."""
    by_language = _ANSWERS.get(action)
    if by_language is None:
        return None
    return by_language[language or KeywordLanguage.ENGLISH].replace("{brand}", brand)
