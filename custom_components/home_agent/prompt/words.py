"""The words that prompts are filled in with, per language: Russian, German and English; any other language gets English.

Read by the model, not by people, so they stand here and not in translations/: a prompt is the same on every system.
"""

from dataclasses import dataclass
from datetime import date, datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptWords:
    """Everything that is written into a prompt in one language."""

    history_empty: str
    user: str
    """What stands before a message, with its blank; so `assistant` and `system`."""
    assistant: str
    system: str
    unknown_user: str
    unknown_household: str
    events: str
    """The line above events."""
    events_none: str
    events_not_asked: str
    context_variables: str
    """A block for prompts, with placeholders."""
    moment: str
    """How a moment is written (`strftime`)."""
    day: str

    def written(self, when: date) -> str:
        """Return a moment, or a day, as it is written in the language."""
        return when.strftime(self.moment if isinstance(when, datetime) else self.day)


_RU = PromptWords(
    history_empty="История диалога пуста",
    user="Пользователь: ",
    assistant="Ассистент: ",
    system="Система: ",
    unknown_user="Неизвестен",
    unknown_household="Неизвестно",
    events="СОБЫТИЯ ПОЛЬЗОВАТЕЛЯ:",
    events_none="События не найдены",
    events_not_asked="События не запрашивались",
    context_variables="""\
КОНТЕКСТ:
- Пользователь: {{userId}}
- Домашнее хозяйство: {{householdId}}
- Время запроса: {{currentTime}}
- Часовой пояс: {{timezone}}

ИСТОРИЯ ДИАЛОГА:
{{messageHistory}}""",
    moment="%d.%m.%Y, %H:%M:%S",
    day="%d.%m.%Y",
)
_DE = PromptWords(
    history_empty="Der Gesprächsverlauf ist leer",
    user="Benutzer: ",
    assistant="Assistent: ",
    system="System: ",
    unknown_user="Unbekannt",
    unknown_household="Unbekannt",
    events="EREIGNISSE DES BENUTZERS:",
    events_none="Keine Ereignisse gefunden",
    events_not_asked="Nach Ereignissen wurde nicht gefragt",
    context_variables="""\
KONTEXT:
- Benutzer: {{userId}}
- Haushalt: {{householdId}}
- Zeit der Anfrage: {{currentTime}}
- Zeitzone: {{timezone}}

GESPRÄCHSVERLAUF:
{{messageHistory}}""",
    moment="%d.%m.%Y, %H:%M:%S",
    day="%d.%m.%Y",
)
_EN = PromptWords(
    history_empty="The conversation history is empty",
    user="User: ",
    assistant="Assistant: ",
    system="System: ",
    unknown_user="Unknown",
    unknown_household="Unknown",
    events="USER EVENTS:",
    events_none="No events found",
    events_not_asked="Events were not requested",
    context_variables="""\
CONTEXT:
- User: {{userId}}
- Household: {{householdId}}
- Time of the request: {{currentTime}}
- Time zone: {{timezone}}

CONVERSATION HISTORY:
{{messageHistory}}""",
    moment="%Y-%m-%d, %H:%M:%S",
    day="%Y-%m-%d",
)
_WORDS = {"ru": _RU, "de": _DE, "en": _EN}


def words_for(language: str) -> PromptWords:
    """Return the words of a language; a regional variant has those of its language."""
    return _WORDS.get(language.replace("_", "-").partition("-")[0].lower(), _EN)
