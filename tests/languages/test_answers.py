"""Yes and no in many languages, by whole utterances only."""

import pytest

from custom_components.home_agent.languages.data import data_of, digit_words, language_codes
from custom_components.home_agent.languages.digits import MASK, mask_digits
from custom_components.home_agent.languages.phrases import ReplyKind, read_answer


@pytest.mark.parametrize(("text", "language"), [
    ("yes", "en"), ("Yes, please!", "en"), ("YES.", "en-GB"), ("ok do it now", "en"),
    ("Yes, do it.", "en"),  # "yes do" is a phrase as well
    ("yes, I'm sure", "en"), ("ja, mach es", "de"), ("aber sicher", "de"), ("yes yes", "en"), ("that’s right", "en"),
    ("ja", "de"), ("Ja, mach das.", "de-AT"), ("ja bitte", "de"), ("na klar", "de"), ("Да, пожалуйста", "ru"),
    ("конечно", "ru"), ("oui, s'il vous plaît", "fr"), ("D’accord", "fr"), ("sí, por favor", "es"),
    ("va bene, grazie", "it"), ("ja graag", "nl"), ("tak, proszę", "pl"), ("sim", "pt-BR"), ("ja tack", "sv"),
    ("ja tak", "da"), ("ja takk", "nb"), ("ano, prosím", "cs"), ("kyllä kiitos", "fi"), ("igen kérem", "hu"),
    ("Evet, lütfen", "tr"), ("так, будь ласка", "uk"), ("はい、お願いします", "ja"), ("是的", "zh-Hans"), ("はいお願いします", "ja"),
    ("好的谢谢", "zh-CN"), ("네 해 주세요", "ko"), ("نعم من فضلك", "ar"), ("हाँ", "hi"), ("ใช่ครับ", "th"), ("بله لطفا", "fa"),
    ("ja takk", "nn"), ("já takk", "is"), ("네", "ko"),
    ("yes", "pl"),  # English is understood everywhere
    ("yes", "tlh"), ("yes", ""),
])  # fmt: skip
def test_yes(text: str, language: str) -> None:
    assert read_answer(text, language).kind is ReplyKind.YES


@pytest.mark.parametrize(("text", "language"), [
    ("Sure?", "en"), ("OK ?", "en"), ("Yes, certainly?", "en"), ("Sicher?", "de"), ("¿Sí?", "es"), ("Да?", "ru"),
    ("はい？", "ja"), ("نعم؟", "ar"), ("ναι;", "el"),
])  # fmt: skip
def test_who_asks_back_has_not_said_yes(text: str, language: str) -> None:
    assert read_answer(text, language).kind is ReplyKind.ASKS


def test_a_pin_is_one_however_it_is_said() -> None:
    assert read_answer("4711?", "en", with_pin=True).kind is ReplyKind.YES
    assert read_answer("No?", "en").kind is ReplyKind.NO
    assert read_answer("Yes; thanks", "en").kind is ReplyKind.YES


@pytest.mark.parametrize(("text", "language"), [
    ("no", "en"), ("No thanks", "en"), ("yes... no wait", "en"), ("don't do it", "en"), ("do not do it please", "en"),
    ("yes, cancel", "en"), ("nein", "de"), ("ja nein doch nicht", "de"), ("mach das nicht", "de"), ("нет", "ru"),
    ("да нет", "ru"), ("не надо, спасибо", "ru"), ("non merci", "fr"), ("no gracias", "es"), ("nee bedankt", "nl"),
    ("ne", "cs"), ("nej tack", "sv"), ("İptal", "tr"),
    ("да ну", "ru"),  # in irony
    ("Да уж...", "ru"), ("да ладно", "ru"), ("I'm not sure", "en"), ("好不好", "zh"), ("不用了谢谢", "zh"),
    ("いいえ、結構です", "ja"), ("नहीं", "hi"), ("ไม่ครับ", "th"),
    ("no", "pl"),  # colloquially a yes: when in doubt, a no
    ("no", "xx"),
])  # fmt: skip
def test_no(text: str, language: str) -> None:
    assert read_answer(text, language).kind is ReplyKind.NO


@pytest.mark.parametrize(("text", "language"), [
    ("actually no", "en"), ("no, actually", "en"), ("um, no", "en"), ("no wait", "en"), ("hmm no", "en"),
    ("oh no", "en"), ("well, no", "en"), ("actually, don't", "en"), ("no, sorry", "en"),
    ("on second thought, no", "en"), ("I think not", "en"), ("I'd rather not", "en"), ("no, I changed my mind", "en"),
    ("uh, actually no, wait", "en"), ("yes, actually no", "en"), ("let's not", "en"), ("er no thanks", "en"),
    ("eigentlich nein", "de"), ("ach nein", "de"), ("doch nicht", "de"), ("nein, doch nicht", "de"),
    ("ähm, nein", "de"), ("hm, nein", "de"), ("oh nein", "de"), ("nein, eigentlich nicht", "de"),
    ("eigentlich doch nicht", "de"), ("nein, warte", "de"), ("na ja, nein", "de"), ("ach, lieber nicht", "de"),
    ("oder nein", "de"), ("nein, ich hab es mir anders überlegt", "de"), ("ja, ach nein", "de"), ("en fait non", "fr"),
    ("euh, non", "fr"), ("non, en fait", "fr"), ("ah non", "fr"), ("finalement non", "fr"), ("non, attends", "fr"),
    ("oh non", "fr"), ("non, pardon", "fr"), ("ben non", "fr"), ("eigenlijk niet", "nl"), ("eigenlijk nee", "nl"),
    ("uh, nee", "nl"), ("nee, toch niet", "nl"), ("toch maar niet", "nl"), ("ach nee", "nl"), ("oh nee", "nl"),
    ("nee, wacht", "nl"), ("bij nader inzien niet", "nl"), ("en realidad no", "es"), ("no, en realidad", "es"),
    ("eh, no", "es"), ("no, espera", "es"), ("ay no", "es"), ("pues no", "es"), ("mejor que no", "es"),
    ("creo que no", "es"), ("bueno, no", "es"), ("in realtà no", "it"), ("no, in realtà", "it"), ("ehm, no", "it"),
    ("no, aspetta", "it"), ("ah no", "it"), ("anzi no", "it"), ("ma no", "it"), ("beh, no", "it"),
    ("penso di no", "it"), ("właściwie nie", "pl"), ("nie, właściwie", "pl"), ("yyy, nie", "pl"), ("nie, czekaj", "pl"),
    ("ach nie", "pl"), ("jednak nie", "pl"), ("o nie", "pl"), ("chyba nie", "pl"), ("w sumie nie", "pl"),
])  # fmt: skip
@pytest.mark.parametrize("about", ["", "unlock"])
def test_a_no_with_words_beside_it(text: str, language: str, about: str) -> None:
    assert read_answer(text, language, about=about).kind is ReplyKind.NO


@pytest.mark.parametrize(("text", "language"), [
    ("no, the bed light", "en"), ("actually the bed light", "en"), ("actually yes", "en"), ("um, yes", "en"),
    ("yes, well", "en"), ("actually", "en"), ("no, the other one", "en"), ("nein, das Bettlicht", "de"),
    ("eigentlich ja", "de"), ("eigentlich", "de"), ("doch", "de"), ("ja also", "de"), ("non, la cuisine", "fr"),
    ("en fait oui", "fr"), ("nee, de keuken", "nl"), ("eigenlijk wel", "nl"), ("no, la cocina", "es"),
    ("creo que sí", "es"), ("no, la cucina", "it"), ("credo di sì", "it"), ("nie, kuchnia", "pl"), ("chyba tak", "pl"),
])  # fmt: skip
def test_words_beside_a_no_are_no_answer(text: str, language: str) -> None:
    assert read_answer(text, language).kind is ReplyKind.OTHER
    assert read_answer(text, language, about="unlock", name="front door").kind is not ReplyKind.YES


@pytest.mark.parametrize(("text", "language"), [
    ("yes and turn on the light", "en"), ("yes but not the kitchen door", "en"), ("is it locked?", "en"),
    ("please", "en"), ("yesterday", "en"), ("", "en"), ("...", "en"), ("no, the other one", "en"),
    ("ja aber nur das Licht", "de"),
    ("ja, aber", "de"),  # the rest was not heard
    ("ja also", "de"), ("yes, well...", "en"), ("yes just", "en"),
    ("いいです", "ja"),  # means either
    ("对不起", "zh"), ("ええと", "ja"),
    ("है", "hi"),  # its first letter is that of a yes
    ("jahr", "de"), ("mach das Licht an", "de"), ("да здравствует", "ru"), ("oui", "en"), ("1234", "en"),
    ("yes 1234", "en"), ("say yes", "en"), ("the user says yes", "en"),
])  # fmt: skip
def test_anything_else_is_neither(text: str, language: str) -> None:
    assert read_answer(text, language).kind is ReplyKind.OTHER


@pytest.mark.parametrize("language", [code for code in sorted(language_codes()) if data_of(code).yes])
def test_every_phrase_of_every_language(language: str) -> None:
    words = data_of(language)
    for phrase in words.yes:
        assert read_answer(phrase, language).kind in (ReplyKind.YES, ReplyKind.NO), phrase
    assert read_answer(words.yes[0], language).kind is ReplyKind.YES
    for phrase in words.no:
        assert read_answer(phrase, language).kind is ReplyKind.NO, phrase
    for phrase in words.courtesies:
        assert read_answer(phrase, language).kind in (ReplyKind.OTHER, ReplyKind.YES), phrase


def test_answers_are_whole() -> None:
    data = [data_of(code) for code in language_codes()]
    assert sum(bool(item.yes) for item in data) > 40
    assert all(bool(item.yes) == bool(item.no) for item in data)
    assert all(item.yes for item in data if item.courtesies or item.digits)


@pytest.mark.parametrize(("language", "said"), [
    ("ca", "zero un dos tres quatre cinc sis set vuit nou"),
    ("de", "null eins zwo drei vier fuenf sechs sieben acht neun"),
    ("en", "oh one two three four five six seven eight nine"), ("nb", "null ein to tre fire fem seks syv åtte ni"),
    ("pt", "zero uma duas três quatro cinco meia sete oito nove"),
    ("tr", "sıfır bir iki üç dört beş altı yedi sekiz dokuz"), ("zh", "零 一 二 三 四 五 六 七 八 九"),
    ("fi", "nolla yksi kaksi kolme neljä viisi kuusi seitsemän kahdeksan yhdeksän"),
])  # fmt: skip
def test_digits_are_said_in_many_languages(language: str, said: str) -> None:
    assert read_answer(said, language, with_pin=True).digits == "0123456789"
    assert mask_digits(said, language, at_least=10) == MASK


def test_a_number_word_is_no_answer() -> None:
    assert digit_words("ko").get("네") is None
    assert read_answer("네", "ko", with_pin=True).kind is ReplyKind.YES


@pytest.mark.parametrize(("text", "language", "kind", "digits"), [
    ("yes 1234", "en", ReplyKind.YES, "1234"), ("Yes, 1 2 3 4.", "en", ReplyKind.YES, "1234"),
    ("yes 1,234", "en", ReplyKind.YES, "1234"), ("yes, the pin is one two three four", "en", ReplyKind.YES, "1234"),
    ("one two oh four", "en", ReplyKind.YES, "1204"), ("1234", "en", ReplyKind.YES, "1234"),
    ("ja eins zwo drei null", "de", ReplyKind.YES, "1230"), ("ja one two", "de", ReplyKind.YES, "12"),
    ("ja, de pincode is een twee drie vier", "nl", ReplyKind.YES, "1234"), ("да один два", "ru", ReplyKind.YES, "12"),
    ("oui, le code est quatre sept un un", "fr", ReplyKind.YES, "4711"),
    ("C’est le 4711", "fr", ReplyKind.YES, "4711"), ("yes ١٢٣٤", "en", ReplyKind.YES, "1234"),
    ("tak, jeden dwa trzy cztery", "pl", ReplyKind.YES, "1234"),
    ("tak, mój kod to 1234", "pl", ReplyKind.YES, "1234"), ("sim, um dois três meia", "pt-BR", ReplyKind.YES, "1236"),
    ("mi pin es uno dos cinco cuatro", "es", ReplyKind.YES, "1254"),
    ("ja, ett två fem fyra", "sv", ReplyKind.YES, "1254"), ("ja en to fem fire", "da", ReplyKind.YES, "1254"),
    ("Evet, bir iki üç dört", "tr", ReplyKind.YES, "1234"), ("yes", "en", ReplyKind.YES, ""),
    ("no 1234", "en", ReplyKind.NO, "1234"), ("set it to 1234", "en", ReplyKind.OTHER, "1234"),
    ("the pin", "en", ReplyKind.OTHER, ""),
])  # fmt: skip
def test_pin(text: str, language: str, kind: ReplyKind, digits: str) -> None:
    answer = read_answer(text, language, with_pin=True)
    assert (answer.kind, answer.digits) == (kind, digits)


@pytest.mark.parametrize(("text", "at_least", "masked"), [
    ("yes 1234", 1, f"yes {MASK}"), ("Yes, one two three four!", 1, f"Yes, {MASK}!"),
    ("1,2-3 4 please", 4, f"{MASK} please"), ("set it to 50 and 1234", 4, f"set it to 50 and {MASK}"),
    ("set it to 50", 4, "set it to 50"), ("no digits", 1, "no digits"),
])  # fmt: skip
def test_digits_are_masked_by_length_not_by_value(text: str, at_least: int, masked: str) -> None:
    assert mask_digits(text, "en", at_least=at_least) == masked


@pytest.mark.parametrize(("text", "language", "about", "kind"), [
    ("yes, unlock it", "en", "unlock", ReplyKind.YES), ("yes, unlock the front door", "en", "unlock", ReplyKind.YES),
    ("go ahead and open it", "en", "open", ReplyKind.YES), ("alright", "en", "", ReplyKind.YES),
    ("yes sir", "en", "", ReplyKind.YES), ("ja bitte aufschließen", "de", "unlock", ReplyKind.YES),
    ("oui, ouvre", "fr", "open", ReplyKind.YES), ("sí, desbloquea", "es", "unlock", ReplyKind.YES),
    ("yes but not the back door", "en", "unlock", ReplyKind.NO),
    ("ja, aber nicht die Hintertür", "de", "unlock", ReplyKind.NO), ("unlock it", "en", "unlock", ReplyKind.OTHER),
    ("yes, open it", "en", "unlock", ReplyKind.OTHER), ("yes, unlock it", "en", "", ReplyKind.OTHER),
    ("yes, unlock the back door", "en", "unlock", ReplyKind.OTHER),
    ("yes and turn on the light", "en", "unlock", ReplyKind.OTHER),
])  # fmt: skip
def test_a_yes_may_repeat_the_question(text: str, language: str, about: str, kind: ReplyKind) -> None:
    assert read_answer(text, language, about=about, name="Front Door" if about else "").kind is kind


@pytest.mark.parametrize(("code", "said", "digits"), [
    ("en", "one three two fours", "1344"), ("en", "four nines", "9999"), ("de", "vier und drei Neunen", "4999"),
    ("es", "cuatro y tres nueves", "4999"), ("fr", "cinq et trois zéros", "5000"), ("it", "tre e tre zeri", "3000"),
    ("nl", "vier negens", "9999"), ("pl", "dwie siódemki i dwa zera", "7700"), ("pl", "podwójna dziewiątka trzy jeden", "9931"),
])  # fmt: skip
def test_a_digit_may_be_counted(code: str, said: str, digits: str) -> None:
    assert read_answer(said, code, with_pin=True).digits == digits
