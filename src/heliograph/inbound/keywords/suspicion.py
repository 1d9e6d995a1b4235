"""Tells texts that seem to ask to be left alone, though they are no keyword: somebody has to read
them. It rather tells one too many.
"""

import re
from typing import Final

from heliograph.inbound.keywords.built_in import BUILT_IN, KeywordAction
from heliograph.inbound.keywords.fold import tokens

READ_MAX: Final = 600  # characters of a text; who wants to be left alone says so early
# in so few words, any word that opts out is one by which somebody wants to
_SHORT_MAX: Final = 3

# What each of these words is about, it is not the end of the month or a canceled order.
_WORDS: Final = frozenset(
    tokens(
        """
        stop stopping stopall unsubscribe unsubscribed unsuscribe unsub optout revoke cease
        desist discontinue halt
        spam spamming harassment
        arrêt arrêter arrêtez cessez stoppez désabonner désabonnez désinscrire désinscrivez
        désinscription
        parar parem descadastrar descadastre
        توقف توقفوا أوقف أوقفوا إيقاف ستوب كفى
        acha acheni sitisha komesha jiondoe usinitumie msinitumie niache niacheni sitaki niondoe
        tsaya daina dakata
        gyae monnyae munnyae menpɛ
        """
    )
)


def _joined(firsts: str, lasts: str) -> list[str]:
    return [f"{first} {last}" for first in firsts.split(",") for last in lasts.split(",")]


_PHRASES: Final = frozenset(
    " ".join(tokens(phrase))
    for phrase in (
        *_joined(
            "do not,don't,dont,never,not to,no longer,quit,no more",
            "text,texts,texting,message,messages,messaging,sms,send,sending,contact,contacting,"
            "call,calling,write,disturb,want,wish to",
        ),
        *_joined("remove,delete,take", "me,my number,this number,my phone"),
        *_joined("leave me,leave us,let me", "alone,be"),
        *_joined(
            "cancel,end",
            "my subscription,the subscription,this subscription,this service,these texts,"
            "the texts,your texts,these messages,the messages,your messages",
        ),
        *_joined("off,off of,out of", "your list,this list,the list"),
        *(
            "opt out",
            "opt me",
            "not interested",
            "my name off",
            "from your list",
            "not sign up",
            "didn't sign up",
        ),
        *("fed up", "enough with", "go away", "lose my number", "wrong number"),
        *_joined(
            "ne m'envoyez,ne m'envoie,ne m'écrivez,ne me contactez,ne me dérangez,n'envoyez,"
            "ne veux,ne souhaite",
            "plus,pas",
        ),
        *_joined("plus de,aucun,pas de", "sms,message,messages,pub,texto,textos"),
        *_joined("laissez,laisse,fichez,foutez", "moi tranquille,moi la paix,moi en paix"),
        *_joined("retirez,enlevez,supprimez,effacez", "moi,mon numéro"),
        *("plus recevoir", "plus m'envoyer", "plus m'écrire", "plus me contacter"),
        *_joined("cesser de,arrête de", "m'envoyer,m'écrire,me contacter"),
        *_joined("me", "retirer,supprimer,enlever"),
        *_joined("résilier,résiliez,annuler,annulez", "mon abonnement,l'abonnement"),
        "désabonnez-moi",
        *_joined(
            "não",
            "me envie,me enviem,envie,enviem,enviar,me mande,me mandem,mande,mandem,mandar,"
            "me contacte,me contactem,quero",
        ),
        *_joined("pare de,para de", "me,mandar,enviar,escrever,ligar"),
        *_joined("cancelar,cancele,cancelem", "minha inscrição,a minha inscrição,a inscrição"),
        *_joined("cancelar,cancele,cancelem", "meu número,o meu número,estas mensagens"),
        *_joined("sair", "da lista,desta lista,dessa lista"),
        *("em paz", "me remova", "me retire", "me tire", "não mais", "chega de", "sem mensagens"),
        *_joined("remova,retire,apague,tire", "meu número,o meu número,me"),
        *_joined("لا", "ترسل,ترسلوا,ترسلي,تراسلني,تراسلوني,أريد,اريد,تتصل,تتصلوا"),
        *_joined("احذف,احذفوا,أزل,أزيلوا,امسح", "رقمي,الرقم,اسمي"),
        *("اتركني وشأني", "اتركوني وشأني", "إلغاء الاشتراك", "إلغاء اشتراكي", "بدون رسائل"),
        *_joined("ondoa,futa,toa", "namba yangu,nambari yangu,jina langu"),
        *("sitaki ujumbe", "sitaki meseji", "usitume tena", "msitume tena"),
        *_joined("kar,kada", "ku turo,ka turo,ku aiko,ka aiko,ku sake,ka sake,ku kira"),
        *("ba na so", "bana so", "ba na son", "bana son", "ku bar ni", "ku cire", "a cire"),
        *(
            "me mpɛ",
            "yi me fi",
            "yi me firi",
            "monyi me fi",
            "mma monsoma",
            "mommfrɛ me",
            "nsoma me",
        ),
    )
)
# the words that opt out, without spaces: `s.t.o.p` and `st op` have the same letters as `stop`
_SPELLED: Final = frozenset(
    word.replace(" ", "")
    for word, built_in in BUILT_IN.items()
    if built_in.action is KeywordAction.OPT_OUT
)
_SPELLED_MAX: Final = max(len(word) for word in _SPELLED)
_DIGITS: Final = re.compile(r"\d+")
_IN_A_ROW: Final = re.compile(r"(.)\1+")
_PLAIN: Final = frozenset(_IN_A_ROW.sub(r"\1", word) for word in _SPELLED)
_LONGEST: Final = max(phrase.count(" ") for phrase in _PHRASES) + 1


def seems_to_opt_out(text: str) -> bool:
    """Returns whether a text seems to opt out: a word or a phrase in it says so, or it is short and
    has a word that opts out, also a mistyped one, or it spells one. Digits part words, as in
    `stop2end`.
    """
    found = tokens(text[:READ_MAX])
    words = [word for token in found for word in _DIGITS.split(token) if word]
    if not _WORDS.isdisjoint(words):
        return True
    if len(words) <= _SHORT_MAX and any(_opts_out(word) for word in words):
        return True
    if sum(len(word) for word in words) <= _SPELLED_MAX and "".join(words) in _SPELLED:
        return True
    if len(found) <= _SHORT_MAX and any(_typed_plainly(token) in _PLAIN for token in found):
        return True
    return any(
        " ".join(words[begin:end]) in _PHRASES
        for begin in range(len(words))
        for end in range(begin + 1, min(begin + _LONGEST, len(words)) + 1)
    )


def _typed_plainly(token: str) -> str:
    """Returns a word as it was meant: with a letter for a zero, and each letter once in a row, as
    in `st0p` and `stoppp`.
    """
    return _IN_A_ROW.sub(r"\1", token.replace("0", "o"))


def _opts_out(word: str) -> bool:
    found = BUILT_IN.get(word)
    return found is not None and found.action is KeywordAction.OPT_OUT
