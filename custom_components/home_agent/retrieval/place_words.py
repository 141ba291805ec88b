"""Rooms and places in a house, in several languages: one row is one thing.

Devices keep the English names that they were sold with in houses where nobody speaks English, and one person says "lounge"
where the other says "living room". A row per thing; a column per language, in the order of `LANGUAGES`; a word may be
several words.
"""

LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "ru", "pt", "pl", "sv", "da")

PLACES: tuple[tuple[str, ...], ...] = (
    ("living room, lounge, sitting room, family room, parlour", "wohnzimmer, stube", "salon, séjour, living", "salón, sala, sala de estar, living", "soggiorno, salotto", "woonkamer, huiskamer, zitkamer", "гостиная, зал", "sala, sala de estar", "salon, pokój dzienny", "vardagsrum, vardagsrummet", "stue, stuen"),
    ("bedroom", "schlafzimmer", "chambre, chambre à coucher", "dormitorio, habitación, recámara, cuarto", "camera, camera da letto", "slaapkamer", "спальня", "quarto, dormitório", "sypialnia", "sovrum, sovrummet", "soveværelse, soveværelset"),
    ("nursery, kids room, childrens room, kids bedroom", "kinderzimmer", "chambre des enfants", "cuarto de los niños, habitación de los niños, guardería", "cameretta", "kinderkamer", "детская", "quarto das crianças", "pokój dziecięcy", "barnrum, barnrummet", "børneværelse, børneværelset"),
    ("guest room, guest bedroom", "gästezimmer", "chambre d'amis", "habitación de invitados, cuarto de huéspedes", "camera degli ospiti", "logeerkamer", "гостевая", "quarto de hóspedes", "pokój gościnny", "gästrum, gästrummet", "gæsteværelse"),
    ("kitchen", "küche", "cuisine", "cocina", "cucina", "keuken", "кухня", "cozinha", "kuchnia", "kök, köket", "køkken, køkkenet"),
    ("dining room", "esszimmer, essbereich", "salle à manger", "comedor", "sala da pranzo", "eetkamer", "столовая", "sala de jantar", "jadalnia", "matsal, matrum", "spisestue"),
    ("bathroom, bath, washroom, restroom", "bad, badezimmer", "salle de bain, salle de bains", "baño, cuarto de baño", "bagno", "badkamer", "ванная, ванная комната", "banheiro, casa de banho", "łazienka", "badrum, badrummet", "badeværelse, badeværelset"),
    ("toilet, wc, loo, powder room, restroom", "toilette, wc, klo", "toilettes, wc", "aseo, wc", "toilette, gabinetto", "toilet, wc", "туалет", "lavabo, wc", "toaleta, wc", "toalett, wc", "toilet, wc"),
    ("hallway, hall, corridor, passage", "flur, diele, gang, korridor", "couloir", "pasillo, corredor", "corridoio", "gang, hal", "коридор", "corredor", "korytarz, przedpokój", "hall, hallen, korridor", "gang, gangen"),
    ("entrance, entryway, foyer, front hall", "eingang, eingangsbereich", "entrée", "entrada, recibidor", "ingresso", "ingang, entree", "прихожая, вход", "entrada, hall", "wejście", "entré", "indgang, entré"),
    ("office, study, home office, den", "büro, arbeitszimmer", "bureau", "oficina, despacho, estudio", "ufficio, studio", "kantoor, werkkamer, studeerkamer", "кабинет, офис", "escritório", "biuro, gabinet", "kontor, arbetsrum", "kontor, arbejdsværelse"),
    ("garage, carport", "garage, carport", "garage", "garaje, cochera", "garage, box", "garage", "гараж", "garagem", "garaż", "garage, garaget", "garage, garagen"),
    ("basement, cellar", "keller", "sous-sol, cave", "sótano", "cantina, seminterrato", "kelder", "подвал", "porão, cave", "piwnica", "källare, källaren", "kælder, kælderen"),
    ("attic, loft", "dachboden, speicher", "grenier, combles", "ático, desván", "soffitta, mansarda", "zolder", "чердак, мансарда", "sótão", "strych, poddasze", "vind, vinden", "loft, loftet"),
    ("garden, yard, backyard, lawn", "garten, hinterhof", "jardin", "jardín, patio trasero", "giardino", "tuin, achtertuin", "сад, двор", "jardim, quintal", "ogród", "trädgård, trädgården", "have, haven"),
    ("terrace, patio, deck, veranda", "terrasse, veranda", "terrasse, véranda", "terraza, patio", "terrazza, patio, veranda", "terras, veranda", "терраса, веранда", "terraço, pátio, varanda", "taras, weranda", "terrass, altan, uteplats", "terrasse, terrassen"),
    ("porch, front porch", "vorbau, veranda, vordertür", "porche, perron", "porche, zaguán", "portico", "veranda, portiek", "крыльцо", "alpendre", "ganek", "veranda, farstu", "veranda"),
    ("balcony", "balkon", "balcon", "balcón", "balcone", "balkon", "балкон, лоджия", "varanda, sacada", "balkon", "balkong", "altan, balkon"),
    ("laundry room, laundry, utility room, washing room", "waschküche, waschraum, hauswirtschaftsraum, waschkeller, allzweckraum", "buanderie", "lavadero, lavandería, cuarto de lavado, cuarto de servicio", "lavanderia", "wasruimte, bijkeuken", "прачечная, постирочная", "lavanderia, lavandaria", "pralnia", "tvättstuga, tvättstugan", "bryggers, vaskerum"),
    ("storage room, pantry, closet, storage", "abstellraum, lagerraum, speisekammer, vorratskammer", "débarras, cellier", "trastero, despensa, almacén", "ripostiglio, dispensa", "berging, voorraadkast", "кладовая, кладовка", "despensa, arrecadação", "spiżarnia, schowek", "förråd, skafferi", "depotrum, spisekammer"),
    ("gym, fitness room", "fitnessraum, fitnessstudio", "salle de sport, gym", "gimnasio", "palestra", "fitnessruimte, sportkamer", "спортзал, тренажерный зал", "ginásio, academia", "siłownia", "gym, gymmet", "fitnessrum"),
    ("pool, swimming pool, poolside", "pool, schwimmbad, schwimmbecken", "piscine", "piscina, alberca", "piscina", "zwembad", "бассейн", "piscina", "basen", "pool, poolen", "pool, poolen, swimmingpool"),
    ("wine cellar", "weinkeller", "cave à vin", "bodega, bodega de vino", "cantina dei vini", "wijnkelder", "винный погреб", "adega", "piwnica na wino", "vinkällare", "vinkælder"),
    ("shed, tool shed", "schuppen, geräteschuppen", "abri, cabanon", "cobertizo", "capanno", "schuur", "сарай", "galpão, barracão", "szopa", "bod, skjul", "skur, skuret"),
    ("stairs, staircase, stairway", "treppe, treppenhaus", "escalier", "escalera, escaleras", "scala, scale", "trap", "лестница", "escada, escadas", "schody", "trappa, trappan", "trappe, trappen"),
    ("ceiling, overhead", "decke, decken", "plafond", "techo", "soffitto", "plafond", "потолок", "teto", "sufit", "tak, taket", "loft, loftet"),
    ("wall", "wand", "mur", "pared", "parete, muro", "muur, wand", "стена", "parede", "ściana", "vägg, väggen", "væg, væggen"),
    ("table, dining table", "tisch, esstisch", "table", "mesa", "tavolo", "tafel", "стол", "mesa", "stół", "bord, bordet", "bord, bordet"),
    ("bed, bedside, nightstand", "bett, nachttisch", "lit, chevet", "cama, mesita", "letto, comodino", "bed, nachtkastje", "кровать, тумбочка", "cama, cabeceira", "łóżko", "säng, sängen", "seng, sengen"),
    ("front", "vorne, vorder, vordere", "avant, devant", "delantera, delantero, frente, frontal", "anteriore, davanti", "voor, voorkant", "передний, передняя", "frente, dianteira", "przedni, przednie", "fram, främre", "for, forreste"),
    ("back, rear", "hinten, hintere, hinter", "arrière", "trasera, trasero, atrás", "posteriore, dietro", "achter, achterkant", "задний, задняя", "traseira, trás", "tylny, tylne", "bak, bakre", "bag, bagerste"),
    ("left", "links, linke", "gauche", "izquierda, izquierdo", "sinistra", "links, linker", "левый, левая, слева", "esquerda", "lewy, lewa", "vänster", "venstre"),
    ("right", "rechts, rechte", "droite", "derecha, derecho", "destra", "rechts, rechter", "правый, правая, справа", "direita", "prawy, prawa", "höger", "højre"),
    ("upstairs, first floor, upper floor, top floor", "oben, obergeschoss, erster stock", "étage, en haut", "arriba, planta alta, primer piso", "piano di sopra, primo piano", "boven, verdieping, eerste verdieping", "наверху, второй этаж", "andar de cima, primeiro andar", "piętro, na górze", "övervåning, uppe", "første sal, ovenpå"),
    ("downstairs, ground floor", "unten, erdgeschoss, parterre", "rez-de-chaussée, en bas", "abajo, planta baja", "piano terra, di sotto", "beneden, begane grond", "внизу, первый этаж", "térreo, rés do chão, andar de baixo", "parter, na dole", "nedervåning, nere, bottenvåning", "stueetage, nedenunder"),
    ("outside, outdoor, outdoors", "draußen, außen", "dehors, extérieur", "fuera, exterior, afuera", "fuori, esterno", "buiten", "улица, снаружи", "fora, exterior", "na zewnątrz", "ute, utomhus", "ude, udenfor"),
)  # fmt: skip

ANY_ROOM = frozenset({
    "room", "salle", "sala", "cuarto", "chambre", "habitacion", "camera", "kamer", "pokoj", "quarto", "floor", "piano", "planta",
})  # fmt: skip
"""Words in the names of rooms that say only that it is one; folded."""
