"""Languages other than English: detect them by their stop words, and stem their words."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from Stemmer import Stemmer

STEM_MARK = "ǂ"
"""Prefix of a stem in the index: a letter so rare that a stem is never confused with a word."""

# The words that are in nearly every text of a language. Queries are run without them.
_STOP_WORD_LISTS: dict[str, str] = {
    "english": (
        "a about above after again against all am an and any are aren as at be because been before being below between"
        " both but by can cannot could couldn d did didn do does doesn doing don down during each few for from further"
        " had hadn has hasn have haven having he her here hers herself him himself his how i if in into is isn it its"
        " itself just ll m me might more most must my myself no nor not now of off on once only or other our ours"
        " ourselves out over own re s same shall she should shouldn so some such t than that the their theirs them"
        " themselves then there these they this those through to too under until up us ve very was wasn we were weren"
        " what when where which while who whom whose why will with won would wouldn you your yours yourself yourselves"
    ),
    "german": (
        "aber als am an auch auf aus bei bin bis das dass dem den der des die dich dir doch du ein eine einem einen"
        " einer eines er es für hat hatte ich ihr im in ist ja kann kein keine man mein mich mir mit nach nicht noch"
        " nur oder ob schon sein sich sie sind so über um und uns unser von vor wann war warum was weil welche wem wen"
        " wenn wer werden wie wieder wir wird wo wurde zu zum zur"
    ),
    "french": (
        "à au aux avec ce ces cette comment dans de des du elle en est et être il ils je la le les leur lui ma mais me"
        " mes mon ne nos notre nous on ou où par pas pour pourquoi quand que quel quelle qui sa se ses son sont sur ta"
        " te tes tu un une vos votre vous était"
    ),
    "spanish": (
        "a al como con cual cuál cuando cuándo cómo de del donde dónde el ella en entre era es ese esta está este ha"
        " hay la las le lo los mas más me mi muy no nos o para pero por porque qué que quien quién se ser si sin sobre"
        " son su sus también te tiene tu un una uno y ya yo"
    ),
    "italian": (
        "a ai al alla anche che chi ci come con da dal dei del della delle di dove e è ed era gli ha ho i il in io la"
        " le lo ma mi ne nel nella non o per perché più quale quando quello questa questo se si sono su sua suo tra tu"
        " un una uno"
    ),
    "portuguese": (
        "a ao aos as com como da das de do dos e é ela ele em entre era essa esse está eu foi há isso já mais mas me"
        " meu minha na não nas no nos o onde os ou para pela pelo por porque qual quando que quem se sem ser seu sua"
        " são também te tem um uma você"
    ),
    "dutch": (
        "aan al als bij dat de der deze die dit door een en er had heb heeft het hij hoe ik in is je kan maar me met"
        " mijn naar niet nog of om onder ook op over te tot uit van veel voor waar waarom wanneer was wat we wel welke"
        " werd wie wij wordt ze zich zij zijn zo"
    ),
    "swedish": (
        "att av blev de den det dig din du där efter ej eller en ett för från han har hon hur i inte jag kan man med"
        " men mig min mot nu när och om på sin ska som så till under upp ut vad var varför vem vi vid vilken är över"
    ),
    "polish": (
        "a ale być co czy dla do gdy gdzie go i ich ja jak jako jest kiedy kto który lub ma mi mnie może na nie o od po"
        " pod przez przy się są ta tak tam te tego tej ten to tu ty w we z za ze że"
    ),
    "turkish": (
        "ama bir biz bu çok da daha de değil en gibi hangi için ile kadar ki kim mi mı ne nasıl neden nerede o olan"
        " olarak sen siz şu var ve veya ya zaman"
    ),
    "russian": (
        "а без более был была были было быть в вам вас весь во вот все вы где да для до его ее если есть еще же за и"
        " из или им их к как какая какой кто когда ли между меня мне мой мы на над не нет но о об он она они оно от"
        " по под почему при про с сам себя со так такой там то тот ты у уже чем что чтобы эта эти это этот я"
    ),
    "greek": (
        "από για δεν είναι η θα και με μια μου να ο οι ποιος που πού πότε πώς σε στη στην στο στον τα τη την της τι"
        " το τον του των ως γιατί"
    ),
    "arabic": "أن أو إلى إن التي الذي ذلك على عن في كان كل كيف لا لم ما متى من هذا هذه هل هو هي و أين لماذا",
}
_LATIN = ("german", "french", "spanish", "italian", "portuguese", "dutch", "swedish", "polish", "turkish")
_ENOUGH = 2
_LOOKED_AT = 120
STOP_WORDS = {language: frozenset(words.split()) for language, words in _STOP_WORD_LISTS.items()}
"""Stop words of each language."""
# Words that distinguish one language from the others and from English.
_MARKER_WORDS = {
    "german": "und nicht ist der das die ein mit auf für von sich auch wird sind dass ihre eine aber",
    "french": "les est des une dans pour sur avec pas sont cette nous mais que qui",
    "spanish": "los del una por las con para está como más pero que sus",
    "italian": "che della per una sono con alla gli anche più nel delle questo",
    "portuguese": "não uma com dos para são mais você como pela que das",
    "dutch": "het een van niet zijn voor dat met ook wordt maar aan",
    "swedish": "och att det inte som är på för med den till från",
    "polish": "nie się jest że jak przez dla ale który oraz",
    "turkish": "bir için ile çok olarak daha gibi değil ama ve bu",
}
_MARKERS_BY_LANGUAGE = {language: frozenset(words.split()) for language, words in _MARKER_WORDS.items()}
_ALL_MARKER_WORDS = frozenset().union(*_MARKERS_BY_LANGUAGE.values())
_SCRIPTS = (
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u04ff", "russian"),
    ("\u0600", "\u06ff", "arabic"),
    ("\u0900", "\u097f", "hindi"),
    ("\u1f00", "\u1fff", "greek"),
)
STEMMED_SCRIPTS = re.compile(f"[{''.join(f'{first}-{last}' for first, last, _ in _SCRIPTS)}]")
"""A letter of a script that implies a language with stems."""


def detect_language(text: str) -> str:
    """Return the language of a text in Latin letters; empty for English and unknown languages."""
    beginning = text[:_LOOKED_AT]
    if " the " in beginning or " and " in beginning:
        return ""
    words = beginning.split()
    if _ALL_MARKER_WORDS.isdisjoint(words):
        return ""
    found = _ALL_MARKER_WORDS.intersection([word.lower() for word in words])
    if len(found) < _ENOUGH:
        return ""
    counts = {language: len(found & words) for language, words in _MARKERS_BY_LANGUAGE.items()}
    best = max(counts, key=counts.__getitem__)
    return best if counts[best] >= _ENOUGH else ""


def possible_languages(word: str, known: Collection[str]) -> list[str]:
    """Return those of the known languages that a word of a query may belong to."""
    by_script = language_by_script(word[0])
    if by_script:
        return [by_script] if by_script in known else []
    if len(word) <= 3 or word[0] >= "\u0250" or word.isdigit():
        return []
    return [language for language in _LATIN if language in known]


@lru_cache(2_000)
def language_by_script(letter: str) -> str:
    """Return the language that the script of a letter implies, if it has stems."""
    return next((language for first, last, language in _SCRIPTS if first <= letter <= last), "")


def marked_stems(word: str, language: str) -> tuple[str, ...]:
    """Return the stems of a lower-case word, with a prefix for its language."""
    mark, stemmer = f"{STEM_MARK}{language[:2]}", _stemmer(language)
    found = [mark + stemmer.stemWord(word)]
    if language == "russian" and word.endswith("ть"):
        # The stemmer treats it as a verb, but it may be a noun.
        found.append(mark + word[:-1])
    return tuple(found)


@lru_cache(len(_STOP_WORD_LISTS) + 1)
def _stemmer(language: str) -> Stemmer:
    # Loading it takes time, and most stores contain only English.
    from Stemmer import Stemmer

    return Stemmer(language)


def stop_words_in(words: list[str]) -> frozenset[str]:
    """Return the stop words for a query: the English ones, unless two or more words belong to another language."""
    counts = {language: len(known.intersection(words)) for language, known in STOP_WORDS.items()}
    best = max(counts, key=lambda language: (counts[language], language == "english"))
    return STOP_WORDS[best if counts[best] >= _ENOUGH else "english"]
