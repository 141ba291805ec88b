"""What counts as "I have done it", per language; everything else an assistant says does not."""

import time

import pytest

from custom_components.home_agent.languages.claims import (
    answers_with_less,
    asks_for_action,
    looks_back,
    numbers_in,
    parts_of,
    repeats,
    told_in,
    told_plainly,
)
from custom_components.home_agent.languages.data import data_of, language_codes

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
    "pl": ["Włączyłem światło.", "Gotowe.", "Jasne! Gotowe.", "Światło zostało wyłączone."],
    "pt": ["Acendi a luz.", "Feito.", "A luz foi desligada."],
    "sv": ["Jag har tänt lampan.", "Klart!", "Lampan är nu tänd."],
    "cs": ["Zamkl jsem dveře.", "Hotovo.", "Rozsvítila jsem v kuchyni.", "Televize byla zapnuta.", "Přidal jsem mléko.", "Zavírám žaluzie."],
    "da": ["Jeg har låst døren.", "Det er gjort!", "Jeg tænder lyset.", "Lyset er blevet slukket."],
    "fi": ["Lukitsin oven.", "Valmis!", "Selvä, tehty.", "Sytytän valon.", "Valot sammutettiin."],
    "hu": ["Bezártam az ajtót.", "Kész!", "Felkapcsoltam a lámpát.", "Rendben, megvan.", "Bekapcsolom a tévét."],
    "ja": ["ドアをロックしました。", "ライトをつけました。", "完了しました。", "エアコンを26度に設定しました。", "追加しておきました。"],
    "tr": ["Kapıyı kilitledim.", "Işığı kapattım.", "Tamamlandı.", "Termostat ayarlandı.", "Televizyonu açıyorum."],
    "zh": ["已打开厨房灯。", "我已经把门锁上了。", "好的，完成了。", "灯都关了。", "正在关闭窗帘。"],
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
    "cs": ["Světlo svítí.", "Nezamkl jsem dveře.", "Mám rozsvítit?", "Nemohu zamknout dveře.", "Bohužel jsem nic nezapnul."],
    "da": ["Lyset er tændt.", "Jeg har ikke låst døren.", "Skal jeg tænde lyset?", "Jeg kan tænde lyset."],
    "fi": ["Valo on päällä.", "En lukinnut ovea.", "Sytytänkö valon?", "Voin sytyttää valon."],
    "hu": ["A lámpa be van kapcsolva.", "Nem zártam be az ajtót.", "Felkapcsoljam?", "Sajnos nem sikerült."],
    "ja": ["ライトは消えています。", "ドアをロックできませんでした。", "ライトをつけましょうか？", "すみません、わかりませんでした。"],
    "tr": ["Işık açık.", "Kapıyı kilitleyemedim.", "Işığı açayım mı?", "Işığı açabilirim.", "Cihazı bulamadım."],
    "zh": ["厨房灯开着。", "我没有打开灯。", "要我打开灯吗？", "抱歉，无法锁门。"],
    "xx": ["Das Licht ist jetzt an."],
}  # fmt: skip


BECAME_OF_AUTOMATIONS = {
    "en": [
        "The automation was updated.", "I deleted the automation.", "The automation has been created and is now active.",
        "Your new automation is on.", "I've switched off the automation Old one.", "The automation Old one has been deleted.",
        "I've removed the automation.", "I updated the automation.", "Your automation has been set up and will turn on the light when you come home.",
        "I've created an automation that turns on the light when you come home.", "I've set the automation up for you.",
        "I've turned the automation off.", "The automation Old one has now been disabled.", "The automation is gone.",
        "The automation has been successfully deleted.", "Automation created.", "Done! Your automation was saved.",
    ],
    "de": [
        "Die Automation wurde erstellt und ist aktiv.", "Die Automatisierung ist angelegt.", "Ich habe die Automation gelöscht.",
        "Die Automation Alt habe ich gelöscht.", "Ich habe eine Automation erstellt, die das Licht einschaltet, wenn du kommst.",
        "Die Automatisierung wurde geändert.", "Die Automation ist jetzt deaktiviert.", "Deine neue Automation ist aktiv.",
        "Die Automatisierung „Flur“ ist gelöscht.", "Automation angelegt.", "Ich habe die Automation Alt ausgeschaltet.",
    ],
    "fr": [
        "L'automatisation a été créée et est active.", "J'ai supprimé l'automatisation.", "L'automatisation est créée.",
        "Votre nouvelle automatisation est active.", "L'automatisation Vieux a été désactivée.", "Automatisation créée.",
    ],
    "nl": [
        "De automatisering is aangemaakt en is actief.", "Ik heb de automatisering verwijderd.", "De automatisering werd bijgewerkt.",
        "Je nieuwe automatisering staat aan.", "Ik heb de automatisering Oud uitgeschakeld.",
    ],
    "es": [
        "La automatización ha sido creada y está activa.", "He eliminado la automatización.", "Eliminé la automatización.",
        "La automatización se ha actualizado.", "La automatización está creada.", "Tu nueva automatización está activa.",
        "He desactivado la automatización Vieja.",
    ],
    "it": [
        "L'automazione è stata creata ed è attiva.", "Ho eliminato l'automazione.", "L'automazione è stata aggiornata.", "L'automazione è creata.",
        "La tua nuova automazione è attiva.", "Ho disattivato l'automazione Vecchia.",
    ],
    "pl": [
        "Automatyzacja została utworzona i jest aktywna.", "Usunąłem automatyzację.", "Automatyzacja jest utworzona.",
        "Twoja nowa automatyzacja jest aktywna.", "Wyłączyłam automatyzację Stara.", "Automatyzacja została zmieniona.",
    ],
}  # fmt: skip
NOTHING_BECAME_OF_AUTOMATIONS = {
    "en": [
        "The automation Hall light is on.", "The automation Hall light is off.", "The automation is enabled.", "I can create an automation for you.",
        "Once the automation has been created, it runs every day.", "If I deleted the automation, the light would stay on.",
        "I could not create the automation.", "The automation has not been deleted.", "No automation was created.",
        "The automation was created yesterday.", "The automation was last changed by Anna.", "The automation was updated at 8 on Monday.",
        "I've made a draft of the automation.", "You have three automations: Hall light is on, Old one is off.",
        "The automation is set up to turn on the light at nine.", "The automation will be deleted.", "Shall I delete the automation?",
        "Do you want the automation to be deleted?", "I found the automation Hall light.",
        "I need your confirmation before the automation is deleted.", "The automation was triggered by the hall sensor.",
        "This automation turns on the light.", "To have the automation changed, say so.",
    ],
    "de": [
        "Die Automation Flurlicht ist an.", "Die Automation Flurlicht ist aktiviert.", "Ich kann eine Automation anlegen.",
        "Die Automation wurde nicht gelöscht.", "Die Automation wurde gestern erstellt.", "Die Automation wurde von Anna angelegt.",
        "Ich habe einen Vorschlag für eine Automation erstellt.", "Sobald die Automation erstellt ist, läuft sie jeden Tag.",
        "Wenn die Automation gelöscht wurde, bleibt das Licht an.", "Ich habe keine Automation gefunden.", "Soll ich die Automation löschen?",
        "Die Automation kann gelöscht werden.", "Die Automation wird erst nach deiner Bestätigung erstellt.",
    ],
    "fr": [
        "L'automatisation Couloir est active.", "Je peux créer une automatisation.", "L'automatisation n'a pas été supprimée.",
        "L'automatisation a été créée hier.", "J'ai préparé une proposition d'automatisation.", "Dois-je supprimer l'automatisation ?",
    ],
    "nl": [
        "De automatisering Gang is aan.", "De automatisering Gang is uitgeschakeld.", "Ik kan een automatisering maken.",
        "De automatisering is niet verwijderd.", "De automatisering is gisteren gemaakt.", "Zal ik de automatisering verwijderen?",
    ],
    "es": [
        "La automatización Pasillo está activa.", "Puedo crear una automatización.", "La automatización no ha sido eliminada.",
        "La automatización fue creada ayer.", "¿Elimino la automatización?",
    ],
    "it": [
        "L'automazione Corridoio è attiva.", "L'automazione Corridoio è disattivata.", "Posso creare un'automazione.",
        "L'automazione non è stata eliminata.", "L'automazione è stata creata ieri.", "Elimino l'automazione?",
    ],
    "pl": [
        "Automatyzacja Korytarz jest włączona.", "Mogę utworzyć automatyzację.", "Automatyzacja nie została usunięta.",
        "Automatyzacja została utworzona wczoraj.", "Usunąć automatyzację?",
    ],
}  # fmt: skip


def claims_action(answer: str, language: str) -> bool:
    return any(told.acts for told in told_in(answer, language))


@pytest.mark.parametrize(("language", "answer"), [(code, text) for code, texts in CLAIMS.items() for text in texts])
def test_claims(language: str, answer: str) -> None:
    assert claims_action(answer, language)


@pytest.mark.parametrize(("language", "answer"), [(code, text) for code, texts in NO_CLAIMS.items() for text in texts])
def test_no_claims(language: str, answer: str) -> None:
    assert not claims_action(answer, language)


@pytest.mark.parametrize(
    ("language", "answer"), [(code, text) for code, texts in BECAME_OF_AUTOMATIONS.items() for text in texts]
)
def test_what_became_of_an_automation(language: str, answer: str) -> None:
    assert any(told.acts and told.shown_by is not None for told in told_in(answer, language))


@pytest.mark.parametrize(
    ("language", "answer"), [(code, text) for code, texts in NOTHING_BECAME_OF_AUTOMATIONS.items() for text in texts]
)
def test_nothing_became_of_an_automation(language: str, answer: str) -> None:
    assert not claims_action(answer, language)


def test_models_that_fall_back_to_english_are_understood() -> None:
    assert claims_action("I've turned on the light.", "de-AT")
    assert claims_action("Ich habe das Licht eingeschaltet.", "de-AT")


def test_a_claim_among_other_sentences() -> None:
    assert claims_action("It is late.\n- The door is locked.\n- I've turned off the lights.", "en")
    assert not claims_action("The oven says: Done.", "en")
    assert not claims_action("", "en")


@pytest.mark.parametrize(("language", "text"), [
    ("en", "did you turn off the light?"), ("en", "What did you do yesterday?"), ("en", "thanks"),
    ("en", "is the light on?"), ("en", "tell me a story about a house"), ("en", "bedroom light?"),
    ("de", "hast du das Licht ausgemacht?"), ("de", "Danke!"), ("de", "ist das Licht an"), ("fr", "merci"),
    ("es", "¿está encendida la luz?"), ("it", "hai chiuso la porta?"), ("en", "status of the front door"),
    ("en", "check the door"), ("en", "great, thanks"), ("de", "zeig die offenen Fenster"),
    ("nl", "waarom is het licht aan"), ("ru", "ты выключил свет?"), ("ru", "что ты сделал"),
    ("en", "when did you lock the door"), ("en", "what did you do"), ("en", "tell me what you did"),
    ("cs", "co jsi udělal"), ("da", "tak"), ("fi", "suljitko oven"), ("hu", "becsuktad az ajtót"),
    ("ja", "ドアを閉めましたか"), ("tr", "kapıyı kapattın mı"), ("zh", "谢谢"),
])  # fmt: skip
def test_what_looks_back(language: str, text: str) -> None:
    assert looks_back(text, language)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "turn on the kitchen light"), ("en", "Can you turn on the kitchen light?"), ("en", "lights off please"),
        ("en", "turn on the bed light, thanks"), ("de", "Mach das Licht an, danke!"), ("fr", "allume la lumière, merci beaucoup"),
        ("de", "mach das Licht an"), ("de", "Kannst du bitte das Licht einschalten?"), ("fr", "allume la lumière"),
        ("fr", "Peux-tu fermer les volets ?"), ("es", "¿Puedes encender la luz?"), ("it", "accendi la luce"), ("nl", "doe het licht aan"),
        ("nl", "Kun je het licht uitdoen?"), ("ru", "включи свет"), ("pl", "włącz światło"), ("pl", "Czy możesz zgasić światło?"), ("xx", "zxcv"),
        ("en", "tell the thermostat to go to 23 degrees"), ("en", "write milk on the list"), ("en", "last thing, lock the door"),
        ("cs", "zamkni dveře"), ("cs", "Můžeš zamknout dveře?"), ("da", "Kan du låse døren?"), ("fi", "Voitko lukita oven?"),
        ("hu", "Be tudod kapcsolni a tévét?"), ("ja", "ライトをつけてもらえますか？"), ("tr", "Kapıyı kilitler misin?"), ("zh", "你能打开灯吗？"),
    ],
)  # fmt: skip
def test_what_asks_for_an_action(language: str, text: str) -> None:
    assert not looks_back(text, language)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "great, now lock the front door"), ("en", "turn on the light and tell me a joke"), ("en", "thanks. close the garage"),
        ("en", "what I want is the light on"), ("en", "oh great, what about the door, can you lock it?"), ("cs", "díky, zamkni dveře"),
        ("de", "super, und jetzt schließ die Tür ab"), ("ja", "ありがとう、次はドアを閉めて"), ("zh", "谢谢，现在关上车库门"), ("tr", "teşekkürler, ışığı kapat"),
    ],
)  # fmt: skip
def test_a_request_behind_a_lead_in(language: str, text: str) -> None:
    assert asks_for_action(text, language)


@pytest.mark.parametrize(("language", "text"), [
    ("en", "did you turn off the light and close the door"), ("en", "thanks"), ("en", "thank you, great"), ("en", ""),
    ("en", "when I left, was the door locked?"), ("de", "hast du, wie immer, die Tür abgeschlossen?"),
    ("cs", "díky moc"),
])  # fmt: skip
def test_no_request_in_any_part(language: str, text: str) -> None:
    assert not asks_for_action(text, language) or not text


STATES = {
    "en": [("The bed light's off.", {"off"}), ("Both lights are on.", {"on"}), ("No, the door is locked.", {"locked"}),
           ("The door was locked.", set()), ("All but the door are open, only that is closed.", set()),
           ("The garage opened twice today.", set()), ("The lamp is on the table.", set()), ("It is already closed.", {"closed"})],
    "de": [("Das Licht ist an.", {"on"}), ("Nein, die Tür ist abgeschlossen.", {"locked"}), ("Die Tür war offen.", set())],
    "fr": [("La porte n'est pas verrouillée.", set()), ("La lampe est déjà éteinte.", {"off"})],
    "es": [("La tele ya está apagada.", {"off"})],
    "it": [("La porta è chiusa a chiave.", {"closed", "locked"})],
    "nl": [("De deur is op slot.", {"locked"}), ("De deur is van het slot.", {"unlocked"})],
    "pl": [("Drzwi są zamknięte na klucz.", {"closed", "locked"})],
    "ru": [("Свет включён.", {"on"}), ("Дверь была закрыта.", set())],
    "pt": [("A luz está acesa.", {"on"})],
    "sv": [("Dörren är låst.", {"locked"}), ("Dörren är olåst.", {"unlocked"})],
    "cs": [("Dveře jsou zamčené.", {"locked"}), ("Dveře nejsou zamčené.", set())],
    "da": [("Lyset er slukket.", {"off"})],
    "fi": [("Valo on pois päältä.", {"off"}), ("Ovi ei ole lukossa.", set())],
    "hu": [("A tévé ki van kapcsolva.", {"off"})],
    "ja": [("ドアは施錠されています。", {"locked"}), ("テレビは消えています。", {"off"}), ("ドアは施錠されていません。", set())],
    "tr": [("Kapı kilitli.", {"locked"}), ("Kapı kilitli değil.", set())],
    "zh": [("前门已锁上。", {"locked"}), ("前门没有锁。", set())],
}  # fmt: skip


@pytest.mark.parametrize(
    ("language", "sentence", "states"), [(code, *row) for code, rows in STATES.items() for row in rows]
)
def test_what_a_sentence_says_of_states(language: str, sentence: str, states: set[str]) -> None:
    assert {state for told in told_in(sentence, language) for state in told.states} == states


@pytest.mark.parametrize(("sentence", "numbers", "plain"), [
    ("The thermostat is set to 21.5 degrees.", (21.5,), ()), ("Dimmed to 40 %.", (40.0,), ()),
    ("I set it to 21.", (), (21.0,)), ("It closed at 7:12.", (), ()), ("エアコンは２６度です。", (26.0,), ()),
])  # fmt: skip
def test_numbers_of_a_sentence(sentence: str, numbers: tuple[float, ...], plain: tuple[float, ...]) -> None:
    told = told_in(sentence, "en")
    assert tuple(value for item in told for value in item.numbers) == numbers
    assert tuple(value for item in told for value in item.plain_numbers) == plain


LONG = 100_000
KINDS = [
    "a", " ", "\n", ".", "“", '"', "«", "„", "「", "`", "```", "*", "1", "1.", "1,", "7:", "%", "a ", "i have ", "ich habe ", "j'ai ", "is ",
    "turned the ", "turned ", "switched on ", "light is on. ", "?", "開", "已", "。", ", ", "and ", "thanks ", "\u0301", "ışık ", "не ",
    "the automation ", "i have changed automation ", "new automation is ", "ich habe die automation ", "j'ai créé l'automatisation ",
    "jeg har ", "chiuso con ", "zamknięte ", "i've turned on the light, ", "(", "\\", "🙂", "\x00", "\u200b", "ß", "ﬁ",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=repr)
@pytest.mark.usefixtures("no_collection")
def test_no_text_takes_long(kind: str) -> None:
    text = (kind * LONG)[:LONG]
    for language in STATES:  # compiled before the clock runs
        told_in("", language)
        looks_back("", language)
    began = time.process_time()
    for language in STATES:
        told_in(text, language)
        asks_for_action(text, language)
        parts_of(text, language)
        numbers_in(text)
        repeats(text, text)
        answers_with_less(text, language)
        told_plainly(text, language)
        told_plainly(text, "nb")
    assert time.process_time() - began < 0.1 * len(STATES)


def test_of_a_long_answer_both_ends_are_read() -> None:
    filler = "Nothing to see here. " * 5000
    assert claims_action(f"I've turned on the light. {filler}", "en")
    assert claims_action(f"{filler} I've turned on the light.", "en")


def test_every_language_is_tried() -> None:
    assert (
        {code for code in language_codes() if data_of(code).claims.said} == CLAIMS.keys() == NO_CLAIMS.keys() - {"xx"}
    )
