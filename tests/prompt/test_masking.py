"""Personal data is hidden; what a house needs is not."""

import pytest

from custom_components.home_agent.client.endpoint import mask_for
from custom_components.home_agent.languages.personal_data import mask

HIDDEN = [
    ("Write to Anna.Meier+home@mail.example.org today", "Write to [email] today"),
    ("<a@b.co>, second@c.example.", "<[email]>, [email]."), ("Call +49 171 2345678 now", "Call [phone] now"),
    ("Call +49 (0)30 1234-5678.", "Call [phone]."), ("+491712345678", "[phone]"), ("0049 171 2345678", "[phone]"),
    ("00491712345678", "[phone]"), ("Oma: 030/1234567", "Oma: [phone]"), ("(0171) 234 56 78", "[phone]"),
    ("0171-2345678", "[phone]"), ("0171 2345678, spät", "[phone], spät"), ("01712345678", "[phone]"),
    ("06 12 34 56 78", "[phone]"), ("07911123456", "[phone]"), ("(555) 123-4567", "[phone]"),
    ("555-123-4567", "[phone]"), ("1-800-555-0199", "[phone]"), ("Позвони 8 (495) 123-45-67", "Позвони [phone]"),
    ("+7 916 123-45-67", "[phone]"), ("89161234567", "[phone]"), ("phone: 5551234", "phone: [phone]"),
    ("tel:+49171234567", "tel:[phone]"), ('{"last_caller":"0171 2345678"}', '{"last_caller":"[phone]"}'),
    ("Oma:0171 2345678,Opa:0172 2345678", "Oma:[phone],Opa:[phone]"),
    ("Telefonnummer 1234567", "Telefonnummer 1234567"), ("Tel. 1234567", "Tel. [phone]"),
    ("телефон 123-45-67", "телефон [phone]"), ("4111 1111 1111 1111", "[card]"), ("4111111111111111", "[card]"),
    ("5500-0000-0000-0004", "[card]"), ("3782 822463 10005", "[card]"), ("DE89 3704 0044 0532 0130 00", "[account]"),
    ("de89370400440532013000", "[account]"), ("GB29NWBK60161331926819.", "[account]."),
    ("AT61 1904 3002 3457 3201 ist meins", "[account] ist meins"),
    ("ES91 2100 0418 4502 0005 1332 from home", "[account] from home"),
    ("BE68 5390 0754 7034 und BE68 5390 0754 7034", "[account] und [account]"),
    ("LU12 to DE89 3704 0044 0532 0130 00", "LU12 to [account]"),
    ("account number 12345678", "account number [account]"), ("Kontonummer: 532013000", "Kontonummer: [account]"),
    ("счёт 40817810099910004312", "счёт [account]"),
    ("Send it to 221B Baker Street, please", "Send it to [address], please"), ("12 Main St.", "[address]"),
    ("Musterstraße 12a, 12345 Berlin", "[address]"), ("in der Langen Str. 5", "in der [address]"),
    ("Gartenweg 3, 50667 Köln", "[address]"), ("Wir wohnen Am Markt 3, 10115 Berlin", "Wir wohnen [address]"),
    ("Unter den Linden 5a, 10117 Berlin.", "[address]."), ("ул. Ленина, д. 5, кв. 12", "[address]"),
    ("12 rue de la Paix", "[address]"), ("Via Roma 12", "[address]"), ("0171.2345678", "[phone]"),
    ("anna@müller.de", "[email]"), ("Hauptstr.5", "[address]"), ("ул Ленина 5", "[address]"),
    ("Ленинский проспект, д. 10", "[address]"), ("7 Elm Drive", "[address]"), ("Calle Mayor, 5", "[address]"),
    ("My social security number is 123-45-6789.", "My social security number is [identity number]."),
    ("it is 123-45-6789", "it is [identity number]"), ("SSN: 123 45 6789", "SSN: [identity number]"),
    ("ssn 123456789", "ssn [identity number]"), ("Steuer-ID 12 345 678 901", "Steuer-ID [identity number]"),
    ("Reisepass C01X00T47", "Reisepass [identity number]"), ("СНИЛС 112-233-445 95", "СНИЛС [identity number]"),
    ("mi DNI es 12345678Z", "mi DNI es [identity number]"), ("ulica Długa 12, 00-238 Warszawa", "[address]"),
    ("ul. Marszałkowska 10/5", "[address]"),
    ("Ik woon op Keizersgracht 123, 1015 CJ Amsterdam.", "Ik woon op [address]."), ("Dorpsstraat 4a", "[address]"),
    ("We live at Oak Avenue 12", "We live at [address]"), ("Тверская 7", "[address]"),
    ("llama al 612 345 678", "llama al [phone]"),
    ("zadzwoń 512-345-678 albo 601234567", "zadzwoń [phone] albo [phone]"), ("44051401458", "[identity number]"),
    ("PESEL: 44051401458", "PESEL: [identity number]"), ("mijn BSN is 123456782", "mijn BSN is [identity number]"),
    ("mi móvil es 612 345 678", "mi móvil es [phone]"), ("my phone is 5551234", "my phone is [phone]"),
    ("Am Alten Markt 3, 50667 Köln", "[address]"), ("Bahnhofsplatz 1, 8001 Zürich", "[address]"),
    ("Bahnhofstrasse 1, 8001 Zürich", "[address]"), ("45 Rue du Faubourg, 75001 Paris", "[address]"),
    ("742 Evergreen Terrace", "[address]"), ("12 Main Street lights", "[address] lights"),
]  # fmt: skip
KEPT = [
    "44051401459", "Детская 22 °C", "Мастерская 3", "Kitchen Avenue light 3", "612 345", "plac zabaw",
    "light.kitchen_0171_2345678 is on", '{"sensor.phone_battery":"80 %","light.4111111111111111":"on"}',
    "21.5 °C at 07:30, then 19.25 until 22:15:00", "2026-11-21T10:30:00+01:00 and 21.11.2026, 22:12:05",
    "01.02.2026 10:30 to 01.02.2026 12:45", "01/02/2026 10:30:12", "192.168.178.20 and 10.0.0.1:8123, fe80::1",
    "52.520008, 13.404954", "00:1A:2B:3C:4D:5E", "0x00158d0001a2b3c4", "serial number 0171 2345678",
    "Seriennummer: 01712345678", "IMEI 490154203237518", "1234 5678 9012 3456", "4111 1111 1111 1112",
    "1700000000 and 1700000000000", "123456789012 kWh", "8a1f3c52-1111-4222-8333-444455556666",
    "01JD3Y7R9C4X7Q2M5N8P0S6T1V", "rgb 255, 128, 64 and 255 128 64", "0800-1630", "Parkplatz 2, Arbeitsplatz 1, Ring 3",
    "Steckdose 3, 12345 Watt und Lampe 4, 10000 Lux", "Street light 2, Straßenlampe 1, 2 lamps", "user@host and @all",
    "brightness 50% in 10 minutes, 3 weeks, 100000 W", "DE89 3704 0044 0532 0130 01", "DE89 3704 0044 0532 0130 005",
    "+21.5 °C, +3", "12 345 678 901", "connected via Zigbee 3", "2 Hard Drive, 3 Flash Drive",
    "12 Smart Way, 12 USB Drive, 1 Garage Drive, 5 Star Drive, 7 Back Terrace",
    "2 Elm Court Lights, 2 Front Drive gate", "part 123-45-67890, 123-45-6789012, serial number 123-45-6789",
    "the ID is 12345, a DNI reader, passport scanner 3, SSN", "Stellplatz 1, 2000 Watt", "Straße5 and Strasse 2x4",
    "Кухня 5, улица, 21 °C, стул 2", "улица тихая, 21 °C", "10:00 0800 1630", "no numbers at all", "",
]  # fmt: skip


@pytest.mark.parametrize(("text", "masked"), HIDDEN, ids=[text for text, _ in HIDDEN])
def test_personal_data_is_hidden(text: str, masked: str) -> None:
    assert mask(text) == masked


@pytest.mark.parametrize("text", KEPT)
def test_what_a_house_needs_stays(text: str) -> None:
    assert mask(text) == text


@pytest.mark.parametrize(("text", "_masked"), HIDDEN, ids=[text for text, _ in HIDDEN])
def test_masking_twice_is_masking_once(text: str, _masked: str) -> None:
    assert mask(mask(text)) == mask(text)


@pytest.mark.parametrize(("choice", "remote", "masks"), [
    ("auto", True, True), ("auto", False, False), ("always", False, True), ("always", True, True),
    ("never", True, False),
])  # fmt: skip
def test_choice_of_the_profile(choice: str, remote: bool, masks: bool) -> None:
    assert (mask_for(choice, remote=remote) is not None) == masks
