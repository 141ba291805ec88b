"""The words of `answers.py`: yes, no, courtesies and digits, per language as Home Assistant codes it.

A word that also means something else stays out: whoever hears a question repeats it rather than unlocks a door by chance.
"""

YES: dict[str, tuple[str, ...]] = {
    "ar": ("نعم", "أجل", "اجل", "ايوه", "موافق", "تمام"),
    "bg": ("да", "добре", "окей", "потвърждавам"),
    "ca": ("sí", "si", "d'acord", "confirmo", "fes-ho"),
    "cs": ("ano", "jo", "jasně", "dobře", "potvrzuji", "udělej to"),
    "da": ("ja", "jo", "jep", "gerne", "bekræft", "gør det"),
    "de": (
        "ja", "jo", "jep", "jawohl", "jawoll", "klar", "na klar", "genau", "sicher", "natürlich", "gerne", "passt",
        "in ordnung", "einverstanden", "bestätigt", "bestätigen", "ich bestätige", "mach", "mach das", "mach es", "machs",
        "tu das", "tu es", "ja mach", "auf jeden fall", "okay",
    ),
    "el": ("ναι", "εντάξει", "βεβαίως", "επιβεβαιώνω"),
    "en": (
        "yes", "yeah", "yep", "yup", "yea", "aye", "sure", "ok", "okay", "of course", "certainly", "absolutely",
        "definitely", "correct", "confirm", "confirmed", "i confirm", "affirmative", "do it", "do that", "go ahead",
        "yes do", "please do", "sounds good", "go for it", "that's right",
    ),
    "es": ("sí", "si", "claro", "por supuesto", "vale", "de acuerdo", "confirmo", "confirmar", "hazlo", "adelante"),
    "et": ("jah", "jaa", "kinnitan"),
    "fi": ("kyllä", "joo", "juu", "selvä", "vahvistan", "tee se"),
    "fr": (
        "oui", "ouais", "d'accord", "bien sûr", "certainement", "ok", "je confirme", "confirmer", "confirmé", "vas-y",
        "fais-le", "allez-y", "faites-le",
    ),
    "he": ("כן", "בסדר", "בטח", "מאשר", "מאשרת"),
    "hr": ("da", "naravno", "potvrđujem", "u redu"),
    "hu": ("igen", "persze", "rendben", "jó", "megerősítem", "csináld"),
    "id": ("ya", "iya", "baik", "setuju"),
    "it": ("sì", "si", "certo", "va bene", "d'accordo", "confermo", "conferma", "fallo", "procedi"),
    "ja": ("はい", "うん", "ええ", "いいよ", "いいです", "お願い", "実行して"),
    "ko": ("네", "예", "응", "좋아", "좋아요", "확인"),
    "lt": ("taip", "gerai", "patvirtinu"),
    "lv": ("jā", "labi", "apstiprinu"),
    "nb": ("ja", "jo", "jepp", "gjerne", "bekreft", "gjør det"),
    "nl": ("ja", "jazeker", "jep", "zeker", "natuurlijk", "oké", "akkoord", "goed", "bevestig", "ik bevestig", "doe maar", "doe het"),
    "pl": ("tak", "jasne", "oczywiście", "dobrze", "zgoda", "potwierdzam", "zrób to"),
    "pt": ("sim", "claro", "com certeza", "está bem", "confirmo", "confirmar", "pode", "faz isso", "faça isso"),
    "ro": ("da", "sigur", "desigur", "bine", "confirm", "de acord"),
    "ru": (
        "да", "ага", "угу", "конечно", "хорошо", "ладно", "окей", "ок", "подтверждаю", "подтвердить", "давай", "сделай",
        "сделай это", "верно", "точно", "разумеется", "да конечно",
    ),
    "sk": ("áno", "hej", "jasné", "dobre", "potvrdzujem"),
    "sl": ("da", "ja", "seveda", "v redu", "potrjujem"),
    "sr": ("да", "da", "наравно", "naravno", "u redu", "у реду"),
    "sv": ("ja", "jo", "japp", "jepp", "gärna", "absolut", "bekräfta", "gör det", "visst"),
    "tr": ("evet", "tamam", "olur", "tabii", "elbette", "onaylıyorum", "yap"),
    "uk": ("так", "авжеж", "звичайно", "добре", "гаразд", "підтверджую", "давай", "зроби", "зроби це"),
    "vi": ("vâng", "có", "đồng ý", "được"),
    "zh": ("是", "是的", "好", "好的", "对", "可以", "确认", "行", "對", "確認"),
}  # fmt: skip

NO: dict[str, tuple[str, ...]] = {
    "ar": ("لا", "كلا", "إلغاء", "الغاء", "توقف"),
    "bg": ("не", "откажи", "спри"),
    "ca": ("no", "cancel·la", "atura"),
    "cs": ("ne", "zrušit", "zruš", "stop", "nedělej to", "počkej"),
    "da": ("nej", "annuller", "stop", "vent", "lad være"),
    "de": (
        "nein", "nee", "ne", "nö", "nicht", "nein danke", "lieber nicht", "auf keinen fall", "abbrechen", "abbruch", "stopp",
        "stop", "halt", "warte", "lass", "lass es", "lass das", "lass mal", "doch nicht", "mach das nicht", "mach es nicht",
        "vergiss es", "nicht machen", "ich nicht", "moment",
    ),
    "el": ("όχι", "ακύρωση", "σταμάτα"),
    "en": (
        "no", "nope", "nah", "no thanks", "no thank you", "not", "never", "cancel", "stop", "wait", "hold on", "don't",
        "do not", "don't do it", "don't do that", "do not do that", "do not do it", "negative", "never mind", "nevermind",
        "forget it", "rather not", "not now", "abort", "leave it", "please don't", "better not", "i don't", "hang on",
    ),
    "es": ("no", "cancelar", "cancela", "para", "espera", "mejor no", "no gracias", "déjalo", "no lo hagas"),
    "et": ("ei", "tühista", "oota"),
    "fi": ("ei", "peruuta", "älä", "lopeta", "odota", "älä tee sitä"),
    "fr": ("non", "nan", "annule", "annuler", "arrête", "attends", "stop", "pas", "surtout pas", "non merci", "laisse tomber"),
    "he": ("לא", "בטל", "עצור", "חכה"),
    "hr": ("ne", "odustani", "stani", "čekaj"),
    "hu": ("nem", "ne", "mégse", "mégsem", "állj", "várj"),
    "id": ("tidak", "jangan", "batal", "batalkan"),
    "it": ("no", "annulla", "ferma", "fermati", "aspetta", "meglio di no", "no grazie", "lascia perdere", "non farlo"),
    "ja": ("いいえ", "いや", "だめ", "やめて", "キャンセル", "違う"),
    "ko": ("아니", "아니요", "아니오", "취소", "그만", "잠깐"),
    "lt": ("ne", "atšaukti", "palauk"),
    "lv": ("nē", "atcelt", "pagaidi"),
    "nb": ("nei", "avbryt", "stopp", "vent", "ikke", "ikke gjør det", "la være"),
    "nl": ("nee", "neen", "niet", "annuleer", "annuleren", "stop", "wacht", "laat maar", "nee bedankt", "liever niet", "doe maar niet"),
    "pl": ("nie", "anuluj", "stop", "czekaj", "poczekaj", "nie rób tego", "lepiej nie"),
    "pt": ("não", "nao", "cancelar", "cancela", "para", "espera", "melhor não", "deixa"),
    "ro": ("nu", "anulează", "stop", "așteaptă"),
    "ru": (
        "нет", "не", "не надо", "не нужно", "отмена", "отмени", "отменить", "стоп", "стой", "подожди", "погоди", "неа",
        "не делай", "не делай этого", "лучше не надо", "забудь", "ни в коем случае",
    ),
    "sk": ("nie", "zruš", "zrušiť", "stoj", "počkaj"),
    "sl": ("ne", "prekliči", "stop", "počakaj"),
    "sr": ("не", "ne", "откажи", "otkaži", "стани", "stani"),
    "sv": ("nej", "nä", "avbryt", "stopp", "vänta", "inte", "gör det inte", "låt bli"),
    "tr": ("hayır", "yok", "iptal", "dur", "bekle", "yapma", "istemiyorum"),
    "uk": ("ні", "не", "не треба", "скасуй", "скасувати", "стоп", "стій", "зачекай", "відміна"),
    "vi": ("không", "hủy", "dừng lại"),
    "zh": ("不", "不是", "不要", "不用", "取消", "停", "算了", "等等", "不行", "不好"),
}  # fmt: skip

POLITE: dict[str, tuple[str, ...]] = {
    "ca": ("si us plau", "gràcies"),
    "cs": ("prosím", "děkuji"),
    "da": ("tak", "venligst"),
    "de": ("bitte", "danke", "gern", "doch", "dann", "jetzt", "aber", "also", "das", "mal", "bitte schön", "home agent"),
    "en": ("please", "thanks", "thank you", "now", "then", "well", "oh", "just", "that", "home agent"),
    "es": ("por favor", "gracias", "ahora"),
    "fi": ("kiitos",),
    "fr": ("s'il te plaît", "s'il vous plaît", "merci", "maintenant"),
    "hu": ("kérem", "kérlek", "köszönöm"),
    "it": ("per favore", "grazie", "adesso"),
    "ja": ("お願いします", "ください"),
    "nb": ("takk", "vær så snill"),
    "nl": ("alsjeblieft", "alstublieft", "graag", "dank je", "bedankt"),
    "pl": ("proszę", "dziękuję"),
    "pt": ("por favor", "obrigado", "obrigada"),
    "ru": ("пожалуйста", "спасибо", "прошу", "ну", "уж"),
    "sv": ("tack", "snälla"),
    "tr": ("lütfen", "teşekkürler"),
    "uk": ("будь ласка", "дякую"),
}  # fmt: skip

_ENGLISH = ("zero oh", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_GERMAN = ("null", "eins ein", "zwei zwo", "drei", "vier", "fünf fuenf", "sechs", "sieben", "acht", "neun")
_RUSSIAN = ("ноль нуль", "один", "два", "три", "четыре", "пять", "шесть", "семь", "восемь", "девять")
_FRENCH = ("zéro", "un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf")
_SPANISH = ("cero", "uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve")
_ITALIAN = ("zero", "uno", "due", "tre", "quattro", "cinque", "sei", "sette", "otto", "nove")
_DUTCH = ("nul", "een één", "twee", "drie", "vier", "vijf", "zes", "zeven", "acht", "negen")

DIGITS: dict[str, tuple[str, ...]] = {
    "de": _GERMAN,
    "en": _ENGLISH,
    "es": _SPANISH,
    "fr": _FRENCH,
    "it": _ITALIAN,
    "nl": _DUTCH,
    "ru": _RUSSIAN,
}
"""Zero to nine, ten entries per language; several words for one digit are separated by a space."""
