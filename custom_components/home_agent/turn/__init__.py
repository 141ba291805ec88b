"""One turn: what came in, what it comes to, what the rest of the home hears of it."""
