"""Events, delays and checks in other forms are said plainly; what is asked or done now stays as it is."""

import pytest

from custom_components.home_agent.languages.recasts import recast

FORMS = [
    ("en", "On Anna's return, open the blinds", "as soon as Anna comes home, open the blinds"),
    ("en", "When the dryer is done, five minutes later turn on the fan", "five minutes after the dryer is done, turn on the fan"),
    ("de", "Bei Annas Rückkehr die Rollos öffnen", "sobald Anna heimkommt, die Rollos öffnen"),
    ("nl", "Doe bij thuiskomst van Anna de rolluiken open", "Doe zodra Anna thuiskomt, de rolluiken open"),
    ("fr", "Allume la radio et éteins-la au bout de trois heures", "Allume la radio pendant trois heures et éteins-le"),
    ("fr", "Quand le four a fini, dix minutes plus tard éteins la hotte", "dix minutes après que le four a fini, éteins la hotte"),
    ("es", "Pon la radio tres horas y luego la quitas", "Pon la radio tres horas y apágalo"),
    ("es", "Enciende el horno y apágalo a las nueve de la noche", "Enciende el horno hasta las nueve de la noche y apágalo"),
    ("es", "A la llegada de Anna abre las persianas", "en cuanto llegue Anna abre las persianas"),
    ("it", "Accendi il forno e spegnilo tra tre ore", "Accendi il forno per tre ore e spegnilo"),
    ("it", "Al rientro di Anna alza le tapparelle", "appena torna Anna alza le tapparelle"),
    ("pl", "Włącz radio i wyłącz je po trzech godzinach", "Włącz radio na trzech godzinach i wyłącz to"),
    ("pl", "Po powrocie Kasi otwórz rolety", "po tym jak Kasia wróci otwórz rolety"),
    ("pl", "Po wyjściu Marka zgaś światło", "po tym jak Marek wyjdzie zgaś światło"),
    ("en", "washing machine finished? turn on the hall light", "when washing machine is finished, turn on the hall light"),
    ("en", "dryer done -> fan off", "when dryer is done, fan off"),
    ("en", "Once the dryer is done, wait five minutes and then turn it off", "five minutes after the dryer is done, turn it off"),
    ("en", "Wait ten minutes after Anna leaves, then lock the door", "ten minutes after Anna leaves, lock the door"),
    ("en", "If the gate opens and is still open after ten minutes, tell me", "ten minutes after the gate opens, if it is still open, tell me"),
    ("en", "At 22:30 check whether the gate is open, and if so, close it", "At 22:30, if the gate is open, close it"),
    ("en", "Check at ten whether the gate is open and tell me", "tell me at ten whether the gate is open"),
    ("en", "Leave the radio on until Anna's return", "Leave the radio on until Anna comes home"),
    ("de", "Kommt Anna heim, mach das Licht an", "wenn Anna heimkommt, mach das Licht an"),
    ("de", "Geht das Tor auf und steht es nach zehn Minuten noch offen, gib Bescheid", "zehn Minuten nachdem das Tor aufgeht, falls es noch offen ist, gib Bescheid"),
    ("de", "Trockner fertig? Dann Lüfter aus", "wenn Trockner fertig ist, Lüfter aus"),
    ("de", "Schau um elf nach, ob das Tor offen ist, und wenn ja, schließ es", "um elf, falls das Tor offen ist, schließ es"),
    ("nl", "Komt Anna thuis, doe dan het licht aan", "als Anna thuis Komt, doe dan het licht aan"),
    ("nl", "Zodra de droger klaar is, wacht je vijf minuten en dan mag hij uit", "vijf minuten nadat de droger klaar is, mag hij uit"),
    ("nl", "Kijk om elf uur of de poort open is en zo ja, doe hem dicht", "om elf uur, indien de poort open is, doe hem dicht"),
    ("fr", "Laisse la radio allumée jusqu'au retour d'Anna", "Laisse la radio allumée jusqu'à ce que Anna rentre"),
    ("fr", "À 23 h, contrôle la porte : si elle est encore ouverte, préviens-moi", "À 23 h, si la porte est encore ouverte, préviens-moi"),
    ("es", "Espera a que termine la secadora, espera diez minutos y luego apaga la luz", "diez minutos después de que termine la secadora, apaga la luz"),
    ("es", "Enciende la luz hasta la vuelta de Anna", "Enciende la luz hasta que Anna vuelva"),
    ("it", "Alle undici controlla la porta: se è ancora aperta, avvisami", "Alle undici, se la porta è ancora aperta, avvisami"),
    ("it", "Accendi la luce finché Anna non torna", "Accendi la luce finché non Anna torna"),
    ("pl", "Poczekaj, aż suszarka skończy, odczekaj pięć minut i wtedy zgaś światło", "pięć minut po tym jak suszarka skończy, zgaś światło"),
    ("pl", "Sprawdź o 22:00, czy brama jest otwarta, i daj mi znać", "powiedz mi o 22:00, czy brama jest otwarta"),
]  # fmt: skip
PLAIN = [
    ("es", "enciende la luz para la llegada de los invitados"), ("fr", "éteins la radio et la télé"), ("it", "spegni la luce e la radio"), ("pl", "włącz radio i zgaś światło"),
    ("en", "is the radio on?"), ("en", "check if the gate is open"), ("en", "turn the light off, then the radio on"),
    ("en", "check whether the gate is open, and if so, close it"), ("de", "Licht aus, dann Radio an"),
    ("de", "ist das Tor zu, oder steht es offen?"), ("nl", "licht uit, dan radio aan"), ("nl", "is de poort dicht?"),
    ("fr", "vérifie si la porte est ouverte"), ("es", "¿está abierta la puerta?"), ("it", "controlla se la porta è aperta"),
    ("pl", "sprawdź, czy brama jest otwarta"),
]  # fmt: skip


@pytest.mark.parametrize(("language", "said", "plain"), FORMS)
def test_other_forms_are_said_plainly(language: str, said: str, plain: str) -> None:
    assert recast(said, language) == plain
    assert recast(plain, language) == plain


@pytest.mark.parametrize(("language", "said"), PLAIN)
def test_what_is_asked_or_done_now_stays(language: str, said: str) -> None:
    assert recast(said, language) == said
