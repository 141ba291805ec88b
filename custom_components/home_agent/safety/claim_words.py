"""The words of `claims.py`, per language as Home Assistant codes it. Regular expressions without case or Markdown.

They are narrow on purpose: a claim that is missed costs a wrong sentence, a sentence that is taken for one a whole request.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimWords:
    """How a language says that something was done."""

    claims: tuple[str, ...]
    """Anywhere in a sentence."""
    done: tuple[str, ...]
    """The whole first sentence that is more than an agreement: "Done." """
    denials: str
    """What makes a sentence none: negations, conditions, what was earlier."""
    looks_back: str
    """What makes the user's words about something else than an action of now: history, questions, thanks."""


_EN_DONE = (
    r"(?:turned|switched|set|opened|closed|shut|locked|unlocked|dimmed|brightened|started|stopped|paused|resumed|muted|"
    r"unmuted|activated|deactivated|enabled|disabled|armed|disarmed|added|removed|adjusted|changed|increased|decreased|"
    r"lowered|raised|skipped|triggered|cancell?ed|scheduled|launched|reverted|restored|undone|put|run|pressed|made sure)"
)
_EN_SENT = r"(?:sent|created|deleted|booked|ordered|called|texted|emailed|messaged|announced|cleared|erased|restarted|reset|played)"
"""What is claimed of ourselves alone: "the match has been called off" is news."""
_EN_ACT = (
    r"(?:turned|switched|opened|closed|locked|unlocked|dimmed|started|stopped|paused|resumed|muted|unmuted|added|removed|activated|"
    r"deactivated|armed|disarmed|adjusted|increased|decreased|lowered|raised|sent|created|deleted)"
)
_EN_ACTING = (
    r"(?:turning|switching|opening|closing|locking|unlocking|dimming|setting|starting|stopping|playing|pausing|muting|arming|"
    r"disarming|sending|adding)"
)
_EN_AGREED = r"(?:ok|okay|sure|alright|all right|certainly|of course|got it|no problem|right away|done)"
_EN_NEWS = (
    r"(?!.*\b(?:since|by(?! \d)|at (?:\d|noon|midnight)|\d+ times|once|twice|today|tonight|this (?:morning|afternoon|evening|week)|"
    r"on \w+day|for (?:\d|a|an|the|about|over|almost|several|hours|days|weeks|months|some))\b)"
)
"""When or by whom it was done, or for how long it has been so: a report, not a claim."""
_DE_SENT = r"(?:gesendet|geschickt|verschickt|gelöscht|angelegt|erstellt|bestellt|angerufen|eingetragen|notiert)"
_DE_SWITCHED = r"(?:(?:ein|aus|an|ab)ge(?:schaltet|macht)|gedimmt|entriegelt|verriegelt)"
_DE_NEWS = r"(?!.*\b(?:um \d|am \w+tag|seit|heute|von (?!\d)|\w*mal|uhr|\d{4})\b)"
_DE_DONE = (
    r"(?:(?:ein|aus|an|ab|um|scharf|unscharf|zu)?ge(?:schaltet|macht|stellt|dreht|sperrt|schlossen|setzt)|geöffnet|geschlossen|"
    r"(?:ab|auf|zu)geschlossen|verriegelt|entriegelt|gedimmt|gestartet|gestoppt|angehalten|pausiert|aktiviert|deaktiviert|"
    r"hinzugefügt|entfernt|geändert|erhöht|verringert|reduziert|gesenkt|(?:hoch|herunter|runter)ge(?:fahren|dreht|lassen)|"
    r"abgespielt|abgebrochen|ausgelöst|ausgeführt|erledigt|rückgängig gemacht|entschärft|eingestellt|angepasst)"
)
_FR_DONE = (
    r"(?:allumée?s?|éteinte?s?|ouverte?s?|fermée?s?|verrouillée?s?|déverrouillée?s?|réglée?s?|mise?s?|baissée?s?|"
    r"augmentée?s?|montée?s?|diminuée?s?|activée?s?|désactivée?s?|lancée?s?|démarrée?s?|arrêtée?s?|coupée?s?|ajoutée?s?|"
    r"supprimée?s?|modifiée?s?|changée?s?|tamisée?s?|armée?s?|désarmée?s?|ajustée?s?)"
)
_ES_DONE = (
    r"(?:encendid|apagad|abiert|cerrad|bloquead|desbloquead|puest|subid|bajad|ajustad|activad|desactivad|iniciad|detenid|"
    r"parad|añadid|agregad|eliminad|cambiad|pausad|configurad|atenuad|armad|desarmad)[oa]s?"
)
_IT_DONE = (
    r"(?:acces|spent|apert|chius|bloccat|sbloccat|impostat|alzat|abbassat|attivat|disattivat|avviat|fermat|aggiunt|rimoss|"
    r"cambiat|regolat|mess|aumentat|diminuit|inserit|disinserit)[oaie]"
)
_NL_DONE = (
    r"(?:(?:aan|uit|open|dicht|in|om)ge(?:zet|daan|schakeld|steld)|geopend|gesloten|vergrendeld|ontgrendeld|gedimd|gezet|gestart|"
    r"gestopt|gepauzeerd|geactiveerd|gedeactiveerd|toegevoegd|verwijderd|aangepast|gewijzigd|verhoogd|verlaagd)"
)
_RU_DONE = (
    r"(?:включил|выключил|открыл|закрыл|запер|отпер|заблокировал|разблокировал|установил|поставил|убавил|прибавил|уменьшил|"
    r"увеличил|запустил|остановил|добавил|удалил|изменил|активировал|отключил|погасил|зажёг|настроил)(?:а|и)?"
)
_RU_DOING = r"(?:включаю|выключаю|открываю|закрываю|запираю|отпираю|устанавливаю|запускаю|останавливаю|отключаю)"
_RU_BEEN = r"(?:включ|выключ|откры|закры|заперт|разблокирован|заблокирован|установл|запущ|остановл|добавл|удал|отключ)(?:[её]н)?(?:т|н)?[аоы]?"
_PT_DONE = (
    r"(?:acendi|apaguei|liguei|desliguei|abri|fechei|tranquei|destranquei|ajustei|aumentei|diminuí|ativei|desativei|iniciei|parei|"
    r"adicionei|removi|alterei)"
)
_PL_DONE = (
    r"(?:włączył|wyłączył|otworzył|zamknął|ustawił|zwiększył|zmniejszył|uruchomił|zatrzymał|dodał|usunął|zmienił)(?:em|am)|"
    r"zamknęłam|usunęłam"
)
_SV_DONE = (
    r"(?:tänt|släckt|slagit (?:på|av)|satt (?:på|av|igång)|stängt|öppnat|låst|låst upp|dimmat|startat|stoppat|pausat|ställt in|höjt|"
    r"sänkt|lagt till|tagit bort|aktiverat|avaktiverat|ändrat)"
)

CLAIM_WORDS: dict[str, ClaimWords] = {
    "de": ClaimWords(
        claims=(
            rf"\b(?:ich habe?|habe? ich|hab)\b.*\b(?:{_DE_DONE}|{_DE_SENT})\b",
            r"\bich (?:schalte|mache|stelle|drehe|fahre)\b.*\b(?:an|aus|auf|zu|ein|hoch|runter|herunter)$",
            r"\bich (?:öffne|schließe|entriegel?e|verriegel?e|dimme) (?:jetzt |nun |dir |sofort )?(?:das|die|den|alle|beide|deine?n?)\b",
                        rf"\b(?:ist|sind)\b(?: \w+){{0,3}} (?:jetzt|nun)\b.*\b(?:an|aus|auf|zu|offen|{_DE_DONE})$",
            rf"\b(?:jetzt|nun) (?:ist|sind)\b.*\b(?:an|aus|auf|zu|offen|{_DE_DONE})$",
            rf"\b(?:wurden?|worden)\b{_DE_NEWS}.*\b{_DE_DONE}\b",
            rf"\b{_DE_DONE} worden\b",
        ),
        done=("erledigt", "fertig", "gemacht", "(?:schon |ist |alles )?erledigt", "alles klar,? erledigt", "wird gemacht",
            rf"(?!.*\b(?:ist|sind|war|waren|wird|werden|wurden?|sein|kann|können|hat|haben)\b)(?:[\w-]+,? ){{1,4}}{_DE_SWITCHED}"),
        denials=r"\b(?:nicht|kein\w*|nie|wenn|falls|sobald|bereits|schon|vorhin|gestern|zuvor|früher|leider|hätte|würde)\b",
        looks_back=(
            r"\b(?:hast|habt|haben|hat|war|waren|wurde|wurden|gestern|vorhin|zuletzt|letzte\w*|bereits|schon|eben|warum|wieso|"
            r"weshalb|wann|welche\w*|wer|was|wie|wo|danke|super|toll|prima|geschichte|gedicht|witz|erzähl\w*|schreib\w*|status|"
            r"zustand)\b|^(?:ist|sind|zeig\w*|prüf\w*|überprüf\w*|sag\w*|nenn\w*)\b"
        ),
    ),
    "en": ClaimWords(
        claims=(
            rf"\b(?:i've|i have|we've|i just)(?: (?:just|now|successfully|gone ahead and|also|been able to))*(?: \w+ed and)? (?:{_EN_DONE}|{_EN_SENT})\b",
            r"\bi (?:turned|switched|dimmed|opened|closed|locked|unlocked|started|stopped|added|activated|adjusted|changed|set|sent)\b",
            rf"\b(?:has|have) (?:now |just )?been (?:successfully )?{_EN_DONE}\b{_EN_NEWS}",
            rf"\b(?:is|are) now (?:on|off|open|closed|{_EN_DONE})\b",
            r"\b(?:is|are) (?:on|off|open|closed|locked|unlocked) now$",
            rf"^{_EN_AGREED}?[,! ]*(?:successfully )?(?:turned|switched) (?:on|off)\b",
            rf"^{_EN_AGREED}?[,! ]*{_EN_ACT} (?:the|your|all|both|it|them)\b{_EN_NEWS}",
            r"\bi(?:'m| am) (?:now )?(?:turning|switching|opening|closing|locking|unlocking|dimming)\b",
        ),
        done=("(?:all |it's |it is |that's )?done", "all set", "(?:consider it |it's )?done", "as you wish,? done", "okay,? done",
            rf"{_EN_AGREED}[,! ]+(?:now )?{_EN_ACTING}(?! (?:hours|times|is|are|can|may|costs?|takes|of)\b)\b.*",
            rf"(?:now )?{_EN_ACTING} .*\b(?:now|for you|right away)",
            r"(?:turning|switching) (?:on|off) (?:the|your|all)(?: [\w'-]+){1,3}|(?:turning|switching) [\w' -]{1,40} (?:on|off)",
            r"(?!.*\b(?:is|are|was|were|be|been|being|that|which|have|has|had|get|gets|got)\b).*\b(?:turned|switched) (?:on|off)"),
        denials=(
            r"\b(?:not|never|no|if|once|when|unless|before|already|earlier|previously|yesterday|ago|last|would|could|should|can|will|"
            r"haven't|hasn't|isn't|aren't|wasn't|unable|sorry|unfortunately)\b"
        ),
        looks_back=(
            r"\b(?:did|have|has|had|was|were|been|already|earlier|yesterday|before|last|ago|history|why|when|which|who|what|how|"
            r"where|thanks|thank|great|story|poem|joke|tell|write|explain|status|state of)\b|^(?:is|are|check|show|list|report)\b"
        ),
    ),
    "es": ClaimWords(
        claims=(
            rf"\b(?:he|hemos) (?:ya )?{_ES_DONE}\b",
            rf"\b(?:se )?(?:ha|han)(?: sido)? {_ES_DONE}\b",
            rf"\b(?:ahora|ya) (?:está|están) {_ES_DONE}\b|\b(?:está|están) (?:ahora|ya) {_ES_DONE}\b",
        ),
        done=("hecho", "listo", "ya está", "(?:está )?hecho"),
        denials=r"\b(?:no|nunca|si|cuando|antes|ayer|anteriormente)\b",
        looks_back=(
            r"\b(?:has|ha|han|había|estaba|ayer|antes|último|última|ya|cuándo|por qué|qué|quién|cuál|cuáles|cómo|dónde|gracias|historia|"
            r"cuento|poema|chiste|cuéntame|escribe)\b|^¿?(?:está|están)\b"
        ),
    ),
    "fr": ClaimWords(
        claims=(
            rf"\b(?:j'ai|nous avons) (?:bien |déjà )?{_FR_DONE}\b",
            rf"\b(?:a|ont) (?:bien )?été (?:bien )?{_FR_DONE}\b(?!.*(?:\bà \d|\b(?:par|depuis|fois|ce matin|ce soir|aujourd'hui)\b))",
            rf"\b(?:est|sont) (?:maintenant|désormais|à présent) {_FR_DONE}\b|\b(?:maintenant|désormais) {_FR_DONE}$",
        ),
        done=("c'est fait", "fait", "voilà,? c'est fait", "voilà", "c'est bon"),
        denials=r"\b(?:pas|jamais|si|quand|lorsque|déjà|hier|avant|tout à l'heure|précédemment)\b",
        looks_back=(
            r"\b(?:as-tu|avez-vous|tu as|était|étaient|hier|avant|dernier|dernière|déjà|pourquoi|quand|quel|quelle|quels|quelles|qui|quoi|"
            r"comment|où|merci|histoire|poème|blague|raconte|écris|est-ce que)\b|^(?:est|sont)\b"
        ),
    ),
    "it": ClaimWords(
        claims=(
            rf"\b(?:ho|abbiamo) (?:appena )?{_IT_DONE}\b",
            rf"\b(?:è|sono) (?:stat[oaie]) {_IT_DONE}\b",
            rf"\b(?:è|sono) (?:ora|adesso) {_IT_DONE}\b|\b(?:ora|adesso) (?:è|sono) {_IT_DONE}\b",
        ),
        done=("fatto", "ecco fatto", "è fatto"),
        denials=r"\b(?:non|mai|se|quando|già|ieri|prima|precedentemente)\b",
        looks_back=(
            r"\b(?:hai|avete|ha|era|erano|ieri|prima|ultimo|ultima|già|perché|quando|quale|quali|chi|cosa|come|dove|grazie|storia|"
            r"poesia|barzelletta|racconta|scrivi)\b|^(?:è|sono)\b"
        ),
    ),
    "nl": ClaimWords(
        claims=(
            rf"\b(?:ik heb|heb ik)\b.*\b{_NL_DONE}\b",
            rf"\b(?:is|zijn) nu\b.*\b(?:aan|uit|open|dicht|op slot|{_NL_DONE})$",
            rf"\b(?:werd|werden|is zojuist|zijn zojuist)\b.*\b{_NL_DONE}\b",
        ),
        done=("gedaan", "klaar", "gelukt", "geregeld", "het is gebeurd"),
        denials=r"\b(?:niet|geen|nooit|als|zodra|wanneer|al|reeds|eerder|gisteren|helaas)\b",
        looks_back=(
            r"\b(?:heb|hebt|heeft|was|waren|werd|gisteren|eerder|laatste|al|waarom|wanneer|welke|wie|wat|hoe|waar|bedankt|dank|verhaal|"
            r"gedicht|grap|vertel|schrijf)\b|^(?:is|zijn)\b"
        ),
    ),
    "pl": ClaimWords(
        claims=(rf"\b(?:{_PL_DONE})\b", r"\b(?:został|została|zostało|zostały) (?:włączon|wyłączon|otwart|zamknięt|ustawion)\w+"),
        done=("zrobione", "gotowe"),
        denials=r"\b(?:nie|jeśli|gdy|kiedy|już|wczoraj|wcześniej)\b",
        looks_back=r"\b(?:czy|był|była|było|wczoraj|wcześniej|ostatni\w*|dlaczego|kiedy|który|która|kto|co|jak|gdzie|dzięki|dziękuję|opowiedz|napisz)\b",
    ),
    "pt": ClaimWords(
        claims=(rf"\b{_PT_DONE}\b", r"\b(?:foi|foram) (?:ligad|desligad|acend|apagad|abert|fechad|ativad|ajustad)\w*"),
        done=("feito", "pronto", "está feito"),
        denials=r"\b(?:não|nunca|se|quando|já|ontem|antes)\b",
        looks_back=r"\b(?:estava|ontem|antes|últim\w+|já|por que|porquê|quando|qual|quais|quem|que|como|onde|obrigad\w+|história|poema|conta|escreve)\b",
    ),
    "ru": ClaimWords(
        claims=(
            rf"(?:^|\bя |[,!] ?)(?:только что )?{_RU_DONE}\b",
            rf"^{_RU_DOING}\b",
            rf"\b(?:теперь|сейчас) {_RU_BEEN}\b|\bбыл[аои]? {_RU_BEEN}\b",
        ),
        done=("готово", "сделано", "выполнено", "хорошо,? готово"),
        denials=r"\b(?:не|нет|если|когда|уже|вчера|раньше|ранее)\b",
        looks_back=(
            r"\b(?:был|была|было|были|вчера|раньше|уже|последн\w+|почему|зачем|когда|какие|какой|какая|кто|что|как|где|спасибо|"
            r"расскажи|напиши|история|стих|анекдот|ли)\b"
        ),
    ),
    "sv": ClaimWords(
        claims=(rf"\b(?:jag har|har jag) (?:nu |precis )?{_SV_DONE}\b", r"\b(?:är nu)\b.*\b(?:på|av|tänd|släckt|tända|släckta|öppen|stängd|låst)$"),
        done=("klart", "gjort", "det är gjort", "fixat"),
        denials=r"\b(?:inte|aldrig|om|när|redan|igår|tidigare|tyvärr)\b",
        looks_back=r"\b(?:har|hade|var|igår|tidigare|senast|redan|varför|när|vilka|vilken|vem|vad|hur|tack|saga|berätta|skriv)\b|^är\b",
    ),
}  # fmt: skip

REQUESTS: dict[str, str] = {
    "de": r"^(?:bitte )?(?:kannst|könntest|würdest|magst|machst|schaltest) (?:du|bitte)\b",
    "en": r"^(?:please )?(?:can|could|would|will) you\b",
    "es": r"^¿?(?:puedes|podrías|puede)\b",
    "fr": r"^(?:peux-tu|pouvez-vous|tu peux|pourrais-tu|pourriez-vous)\b",
    "it": r"^(?:puoi|potresti|può)\b",
    "nl": r"^(?:kun|kan|wil|zou) (?:je|jij|u)\b",
    "ru": r"^(?:можешь|можете|не мог(?:ла)? бы)\b",
}
"""Questions that are requests: "can you turn on the light?" """
