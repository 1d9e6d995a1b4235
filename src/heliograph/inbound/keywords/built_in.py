"""Lists the words that every number knows, in seven languages: those that opt out, that opt in
again, and that ask for help.

The English words that opt out are those of the FCC (47 CFR 64.1200(a)(10)).
"""

from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from heliograph.inbound.keywords.fold import fold


class KeywordAction(StrEnum):
    """Lists what a keyword does. The value is the one in the database."""

    NONE = "none"  # it answers, or marks the text
    OPT_OUT = "opt_out"
    OPT_IN = "opt_in"
    HELP = "help"


class KeywordLanguage(StrEnum):
    """Lists the languages of keywords and of the answers to them (ISO 639-1)."""

    ENGLISH = "en"
    FRENCH = "fr"
    PORTUGUESE = "pt"
    ARABIC = "ar"
    SWAHILI = "sw"
    HAUSA = "ha"
    TWI = "tw"


class BuiltIn(NamedTuple):
    action: KeywordAction
    language: KeywordLanguage


# as they are written; words of one line are separated by commas
BUILT_IN_WORDS: Final = {
    KeywordAction.OPT_OUT: {
        KeywordLanguage.ENGLISH: (
            "stop, stopall, stop all, quit, end, revoke, opt out, optout, cancel, unsubscribe"
        ),
        KeywordLanguage.FRENCH: (
            "arrêt, arrête, arrêter, arrêtez, désabonner, désabonnez-moi, désabonnement,"
            " désinscrire, désinscription, résilier, stop sms"
        ),
        KeywordLanguage.PORTUGUESE: "parar, pare, sair, cancelar, remover, descadastrar",
        KeywordLanguage.ARABIC: "توقف, قف, أوقف, إيقاف, إلغاء, إلغاء الاشتراك, ستوب",
        KeywordLanguage.SWAHILI: "acha, sitisha, komesha, simama, ondoa, jiondoe",
        KeywordLanguage.HAUSA: "tsaya, daina, dakata, ku daina",
        KeywordLanguage.TWI: "gyae, gyina, yi me fi mu",
    },
    KeywordAction.OPT_IN: {
        KeywordLanguage.ENGLISH: "start, unstop, subscribe, opt in, optin",
        KeywordLanguage.FRENCH: "démarrer, commencer, reprendre, abonner, abonnez-moi",
        KeywordLanguage.PORTUGUESE: "iniciar, começar, voltar, aderir",
        KeywordLanguage.ARABIC: "ابدأ, بدء, اشترك, اشتراك",
        KeywordLanguage.SWAHILI: "anza, jiunge",
        KeywordLanguage.HAUSA: "fara, ku fara",
        KeywordLanguage.TWI: "hyɛ aseɛ, hyɛ ase, fi aseɛ, fi ase",
    },
    KeywordAction.HELP: {
        KeywordLanguage.ENGLISH: "help, info",
        KeywordLanguage.FRENCH: "aide, aidez-moi",
        KeywordLanguage.PORTUGUESE: "ajuda",
        KeywordLanguage.ARABIC: "مساعدة, ساعدني",
        KeywordLanguage.SWAHILI: "msaada, saidia",
        KeywordLanguage.HAUSA: "taimako",
        KeywordLanguage.TWI: "mmoa, boa me",
    },
}

# by the folded word
BUILT_IN: Final = MappingProxyType(
    {
        fold(word): BuiltIn(action, language)
        for action, by_language in BUILT_IN_WORDS.items()
        for language, words in by_language.items()
        for word in words.split(",")
    }
)
