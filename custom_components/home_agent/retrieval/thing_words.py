"""Things in a house that are of no kind of their own: what they, what is in them and what is done with them is called.

People ask for the dishes and mean the dishwasher, or say "PC" where the switch is called "Computer". A row per thing; a
column per language, in the order of `LANGUAGES`; a word may be several words. Words that name a kind (place_words.py,
colloquial_words.py) are not here.
"""

LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "ru")

THINGS: tuple[tuple[str, ...], ...] = (
    ("dishwasher, dishes, washing up", "geschirrspüler, spülmaschine, geschirr, abwasch, geschirrspülmaschine", "lave-vaisselle, vaisselle", "lavavajillas, lavaplatos, vajilla, platos", "lavastoviglie, piatti, stoviglie", "vaatwasser, vaatwasmachine, vaat, afwas", "посудомойка, посудомоечная машина, посуда"),
    ("washing machine, washer, laundry, washing", "waschmaschine, wäsche", "lave-linge, machine à laver, linge, lessive", "lavadora, colada, ropa", "lavatrice, bucato", "wasmachine, was, wasje", "стиральная машина, стиралка, стирка, бельё, постирать, постиралось, стирается"),
    ("tumble dryer, dryer, drier", "trockner, wäschetrockner", "sèche-linge", "secadora", "asciugatrice", "wasdroger, droger", "сушилка, сушильная машина"),
    ("oven, stove, cooker, hob, baking", "backofen, ofen, herd, kochfeld", "four, cuisinière, plaque", "horno, cocina, vitrocerámica, placa", "forno, fornello, piano cottura", "oven, fornuis, kookplaat", "духовка, плита"),
    ("fridge, refrigerator, icebox", "kühlschrank", "frigo, réfrigérateur", "nevera, frigorífico, refrigerador", "frigorifero, frigo", "koelkast, ijskast", "холодильник"),
    ("freezer, deep freeze", "gefrierschrank, tiefkühler, tiefkühltruhe, gefriertruhe", "congélateur", "congelador", "congelatore, freezer", "vriezer, diepvries", "морозилка, морозильник"),
    ("coffee machine, coffee maker, coffee, espresso, espresso machine, cappuccino", "kaffeemaschine, kaffee, espresso, kaffeevollautomat", "machine à café, cafetière, café, expresso", "cafetera, café, expreso", "macchina del caffè, caffè", "koffiezetapparaat, koffiemachine, koffie", "кофемашина, кофеварка, кофе"),
    ("kettle, tea, boil", "wasserkocher, teekocher, tee", "bouilloire, thé", "hervidor, té", "bollitore, tè", "waterkoker, thee", "чайник, чай, вскипяти, вскипятить"),
    ("computer, pc, desktop, workstation, laptop", "computer, rechner, pc, laptop", "ordinateur, pc", "ordenador, computadora, pc, portátil", "computer, pc, portatile", "computer, pc, laptop", "компьютер, комп, ноутбук, пк"),
    ("router, wifi, internet, wlan, wireless", "router, wlan, internet, fritzbox", "box, routeur, wifi, internet", "router, wifi, internet", "router, wifi, internet", "router, wifi, internet", "роутер, вайфай, интернет"),
    ("car, vehicle, drive", "auto, wagen, fahrzeug, e-auto, fahren", "voiture, auto, véhicule", "coche, carro, auto, vehículo", "auto, macchina, automobile", "auto, wagen, voertuig", "машина, автомобиль, авто"),
    ("range, how far, mileage", "reichweite, wie weit", "autonomie, quelle distance, combien de kilomètres", "autonomía, cuántos kilómetros, qué distancia", "autonomia, quanti chilometri", "actieradius, bereik, hoe ver", "запас хода, сколько километров"),
    ("charger, wallbox, charging station, charge, charging, ev charger", "wallbox, ladestation, ladegerät, lade, laden, lädt, aufladen", "borne, borne de recharge, chargeur, recharge, recharger", "cargador, carga, cargar", "wallbox, colonnina, caricatore, carica, ricarica, caricare", "laadpaal, lader, laad, laden, opladen", "зарядка, зарядная станция, заряди, зарядить"),
    ("rain, raining, rained, rainfall, precipitation, wet weather", "regen, regnet, geregnet, niederschlag, regenmesser, regensensor", "pluie, pleut, plu, pluviomètre, précipitations", "lluvia, llueve, llovido, pluviómetro, precipitación", "pioggia, piove, piovuto, pluviometro", "regen, regent, geregend, neerslag, regenmeter", "дождь, осадки, осадкомер, дождя"),
    ("wind, windy, gust, storm, stormy", "wind, windig, windgeschwindigkeit, sturm, böe", "vent, rafale, tempête", "viento, ventoso, ráfaga", "vento, ventoso, raffica", "wind, winderig, windsnelheid, storm", "ветер, ветрено, шторм"),
    ("sun, sunrise, sunset, dusk, dawn", "sonne, sonnenaufgang, sonnenuntergang, dämmerung", "soleil, lever du soleil, coucher du soleil", "sol, amanecer, atardecer", "sole, alba, tramonto", "zon, zonsopgang, zonsondergang", "солнце, рассвет, закат"),
    ("solar, photovoltaic, pv, sun harvest", "solar, photovoltaik, pv, solarertrag, sonnenstrom, solaranlage", "solaire, photovoltaïque, panneaux", "solar, fotovoltaica, placas solares", "solare, fotovoltaico", "zonnepanelen, zonne-energie, solar", "солнечная, солнечные панели"),
    ("bin, bins, garbage, trash, rubbish, waste, recycling, dustbin", "müll, mülltonne, müllabfuhr, tonne, abfall, abfuhr, papiertonne, altpapier", "poubelle, poubelles, ordures, déchets", "basura, contenedor, residuos", "spazzatura, rifiuti, immondizia", "vuilnis, vuilnisbak, afval, kliko", "мусор, мусора, отходы"),
    ("guest, guests, visitor, visitors, visit", "gast, gäste, besuch, gästemodus", "invité, invités, visite", "invitado, invitados, visita", "ospite, ospiti, visita", "gast, gasten, logees, bezoek", "гость, гости, гостей"),
    ("movie, movies, film, cinema", "film, filme, kino, filmabend, kinoabend", "film, cinéma", "película, cine, peli", "film, cinema", "film, bioscoop, filmavond", "кино, фильм, киновечер, кинотеатр"),
    ("doorbell, bell, ring, rang, ringing", "klingel, türklingel, geklingelt, klingelt", "sonnette, sonné, sonne", "timbre", "campanello, suonato", "deurbel, bel, aangebeld", "звонок, звонка, звонил, позвонил"),
    ("mail, mailbox, letterbox, post, letter, parcel", "briefkasten, post, brief, paket", "boîte aux lettres, courrier, colis", "buzón, correo, paquete", "cassetta della posta, posta, pacco", "brievenbus, post, pakket", "почтовый ящик, почта, посылка"),
    ("bed, blanket, electric blanket", "bett, heizdecke, decke", "lit, couverture chauffante, couverture", "cama, manta", "letto, coperta", "bed, deken, elektrische deken", "постель, кровать, одеяло, электроодеяло"),
    ("towel, towels, towel rail, towel warmer", "handtuch, handtücher, handtuchheizung, handtuchtrockner, handtuchwärmer", "serviette, serviettes, sèche-serviettes", "toalla, toallas, toallero", "asciugamano, asciugamani, scaldasalviette", "handdoek, handdoeken, handdoekradiator", "полотенце, полотенца, полотенцесушитель"),
    ("lawn, grass, sprinkler, sprinklers, irrigation", "rasen, rasensprenger, sprenger, bewässerung", "pelouse, gazon, arrosage, arroseur", "césped, riego, aspersor", "prato, erba, irrigazione", "gazon, gras, sproeier", "газон, трава, полив"),
    ("power, consumption, using, usage, consuming, electricity", "strom, stromverbrauch, verbrauch, verbrauchen, verbraucht", "consommation, consomme, consommons, électricité", "consumo, gastando, gastamos, consumiendo, electricidad", "consumo, consumi, consumando, elettricità", "verbruik, verbruiken, stroom, stroomverbruik", "потребление, потребляем, тратим, расходуем, электричество"),
    ("christmas, christmas tree, xmas, fairy lights", "weihnachten, weihnachtsbaum, christbaum, tannenbaum", "noël, sapin", "navidad, árbol de navidad", "natale, albero di natale", "kerst, kerstboom", "ёлка, новогодняя"),
    ("aquarium, fish tank, fish", "aquarium, fische", "aquarium, poissons", "acuario, pecera, peces", "acquario, pesci", "aquarium, vissen", "аквариум, рыбки"),
    ("bedtime, good night, sleep, night", "gute nacht, nacht, schlafen, bett gehen", "bonne nuit, nuit, dormir", "buenas noches, noche, dormir", "buonanotte, notte, dormire", "goedenacht, nacht, slapen", "спокойной ночи, ночь, спать, отбой"),
    ("printer, print, printing", "drucker, drucken", "imprimante, imprimer", "impresora, imprimir", "stampante, stampare", "printer, printen", "принтер, печать, распечатай"),
    ("price, cost, cheap, expensive, tariff", "preis, strompreis, kosten, billig, günstig, teuer, tarif", "prix, coût, tarif, cher", "precio, coste, barato, caro, tarifa", "prezzo, costo, tariffa, economico", "prijs, kosten, goedkoop, duur, tarief", "цена, стоимость, тариф, дёшево, дорого"),
)  # fmt: skip
