"""What counts as "I have done it", per language; everything else an assistant says does not."""

import pytest

from custom_components.home_agent.languages.data import data_of, language_codes
from custom_components.home_agent.languages.phrases import claims_action, looks_back

CLAIMS = {
    "en": [
        "I've turned on the kitchen light.", "I’ve turned on the kitchen light.", "Sure! I have unlocked the front door.", "Done.", "Done!",
        "All set!", "Okay, done. Anything else?", "The kitchen light has been turned on.", "The lights are now off.",
        "The **bed light** is now on.", "I turned off the heater for you.", "Turned on the bed light.", "I just set it to 21 °C.",
        "OK, turned off all lights.", "I'm turning on the lights now.", "I have successfully locked the door.",
        "I've gone ahead and closed the blinds.", "The alarm has now been armed.", "I've added milk to the list.",
        "Turning on the bed light.", "Sure! Turning on the bed light.", "Okay, unlocking the door.", "Kitchen light turned on.",
        "Unlocked the front door for you.", "I set the thermostat to 21 degrees.", "I've sent the message to Anna.",
        "The lights are off now.", "The bed light has been turned on for you.",
    ],
    "de": [
        "Ich habe das Licht eingeschaltet.", "Das Licht ist jetzt an.", "Das Licht ist jetzt eingeschaltet.", "Erledigt.", "Erledigt!",
        "Alles klar, ich habe die Tür abgeschlossen.", "Die Lampe wurde ausgeschaltet.", "Das Küchenlicht habe ich ausgemacht.",
        "Die Rollläden sind nun geschlossen.", "Ich hab die Heizung auf 21 Grad gestellt.", "Fertig!", "Jetzt ist das Licht aus.",
        "Die Tür ist entriegelt worden.", "Ich schalte das Licht ein.", "Klar! Licht ausgeschaltet.", "Ich öffne jetzt die Tür.", "Ich schließe jetzt die Tür.",
        "Ich habe Anna die Nachricht geschickt.", "Das Licht wurde auf 50 Prozent gedimmt.",
    ],
    "fr": [
        "J'ai allumé la lumière.", "C'est fait !", "La porte a été verrouillée.", "La lumière est maintenant éteinte.",
        "Voilà, c'est fait.", "J’ai bien fermé les volets.",
    ],
    "es": [
        "He encendido la luz.", "Hecho.", "Listo, he apagado las luces.", "La puerta ha sido cerrada.", "La luz está ahora encendida.",
        "Se ha activado la alarma.", "Ya está.",
    ],
    "it": ["Ho acceso la luce.", "Fatto!", "La porta è stata chiusa.", "La luce è ora accesa.", "Ecco fatto."],
    "nl": ["Ik heb het licht aangezet.", "Gedaan.", "De lamp is nu uit.", "De gordijnen heb ik gesloten.", "De deur is nu op slot."],
    "ru": [
        "Я включил свет.", "Включила свет на кухне.", "Готово!", "Готово, выключил свет.", "Включаю свет.", "Свет теперь включён.",
        "Дверь была закрыта.",
    ],
    "pl": ["Włączyłem światło.", "Gotowe.", "Światło zostało wyłączone."],
    "pt": ["Acendi a luz.", "Feito.", "A luz foi desligada."],
    "sv": ["Jag har tänt lampan.", "Klart!", "Lampan är nu tänd."],
}  # fmt: skip
NO_CLAIMS = {
    "en": [
        "The light is on.", "The kitchen light is off.", "Shall I turn on the light?", "I can turn on the light for you.", "I could not do it.",
        "I have not turned on the light.", "I haven't unlocked the door.", "Have I turned it on?", "I've found three lights.",
        "The light has been on since 8.", "If I've turned it on, it stays on.", "The window was opened at 8.", "I've already turned it on.",
        "You've set the heating to 21 degrees.", "He said: “I've turned on the light.”", "Sorry, nothing was done.", "It is 21 degrees.",
        "Turning on the light needs your confirmation.", "I will turn it on.", "The light is currently on.", "Which light?",
        "The dishwasher is done.", "I need a confirmation before the door is unlocked.", "I was unable to do it; the light has been removed.",
        "The front door has been locked since 5 pm.", "The garage has been opened by Anna.", "The door has been opened 3 times today.",
        "Sure, opening hours are 9 to 5.", "Tips: Turning off the TV. Closing the blinds at noon.", "Lights left switched on: 3",
        "Setting the thermostat to 18 saves energy.",
    ],
    "de": [
        "Das Licht ist an.", "Das Licht ist eingeschaltet.", "Soll ich das Licht einschalten?", "Ich kann das Licht einschalten.",
        "Ich habe das Licht nicht eingeschaltet.", "Habe ich das Licht eingeschaltet?", "Ich habe drei Lampen gefunden.",
        "Das wurde leider nicht ausgeführt.", "Das Licht wurde bereits um acht ausgeschaltet.", "Dafür brauche ich eine Bestätigung.",
        "Es ist jetzt 21 Grad warm.", "Die Tür wurde um 17 Uhr geöffnet.", "Die Tür wurde heute dreimal geöffnet.",
        "Das habe ich nicht gemacht.", "Fenster geschlossen: 3", "Alle Fenster geschlossen.", "Ich schließe daraus, dass es regnet.",
        "Die Waschmaschine ist fertig.",
    ],
    "fr": ["La lumière est allumée.", "Je peux allumer la lumière.", "Je n'ai pas allumé la lumière.", "Dois-je l'allumer ?", "La porte a été ouverte à 17 h."],
    "es": ["La luz está encendida.", "Puedo encender la luz.", "No he encendido la luz.", "¿La enciendo?"],
    "it": ["La luce è accesa.", "Posso accendere la luce.", "Non ho acceso la luce.", "La accendo?"],
    "nl": ["Het licht is aan.", "Ik kan het licht aanzetten.", "Ik heb het licht niet aangezet.", "Zal ik het aanzetten?"],
    "ru": ["Свет включён.", "Я могу включить свет.", "Я не включил свет.", "Включить свет?", "Сейчас 21 градус."],
    "pl": ["Światło jest włączone.", "Nie włączyłem światła."],
    "pt": ["A luz está acesa.", "Não acendi a luz."],
    "sv": ["Lampan är tänd.", "Jag har inte tänt lampan."],
    "xx": ["Das Licht ist jetzt an."],
}  # fmt: skip


@pytest.mark.parametrize(("language", "answer"), [(code, text) for code, texts in CLAIMS.items() for text in texts])
def test_claims(language: str, answer: str) -> None:
    assert claims_action(answer, language)


@pytest.mark.parametrize(("language", "answer"), [(code, text) for code, texts in NO_CLAIMS.items() for text in texts])
def test_no_claims(language: str, answer: str) -> None:
    assert not claims_action(answer, language)


def test_models_that_fall_back_to_english_are_understood() -> None:
    assert claims_action("I've turned on the light.", "de-AT")
    assert claims_action("Ich habe das Licht eingeschaltet.", "de-AT")


def test_a_claim_among_other_sentences() -> None:
    assert claims_action("It is late.\n- The door is locked.\n- I've turned off the lights.", "en")
    assert not claims_action("The oven says: Done.", "en")
    assert not claims_action("", "en")


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "did you turn off the light?"), ("en", "What did you do yesterday?"), ("en", "thanks"), ("en", "is the light on?"),
        ("en", "tell me a story about a house"), ("en", "bedroom light?"), ("de", "hast du das Licht ausgemacht?"), ("de", "Danke!"),
        ("de", "ist das Licht an"), ("fr", "merci"), ("es", "¿está encendida la luz?"), ("it", "hai chiuso la porta?"),
        ("en", "status of the front door"), ("en", "check the door"), ("en", "great, thanks"), ("de", "zeig die offenen Fenster"),
        ("nl", "waarom is het licht aan"), ("ru", "ты выключил свет?"), ("ru", "что ты сделал"),
    ],
)  # fmt: skip
def test_what_looks_back(language: str, text: str) -> None:
    assert looks_back(text, language)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "turn on the kitchen light"), ("en", "Can you turn on the kitchen light?"), ("en", "lights off please"),
        ("en", "turn on the bed light, thanks"), ("de", "Mach das Licht an, danke!"), ("fr", "allume la lumière, merci beaucoup"),
        ("de", "mach das Licht an"), ("de", "Kannst du bitte das Licht einschalten?"), ("fr", "allume la lumière"),
        ("fr", "Peux-tu fermer les volets ?"), ("es", "¿Puedes encender la luz?"), ("it", "accendi la luce"), ("nl", "doe het licht aan"),
        ("nl", "Kun je het licht uitdoen?"), ("ru", "включи свет"), ("pl", "włącz światło"), ("xx", "zxcv"),
    ],
)  # fmt: skip
def test_what_asks_for_an_action(language: str, text: str) -> None:
    assert not looks_back(text, language)


def test_every_language_is_tried() -> None:
    assert (
        {code for code in language_codes() if data_of(code).claims.said} == CLAIMS.keys() == NO_CLAIMS.keys() - {"xx"}
    )
