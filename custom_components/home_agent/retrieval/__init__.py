"""Finding what a request is about: the index of the home, stores, embeddings, ranking."""
