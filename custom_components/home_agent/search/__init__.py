"""What can be found: entities, documents, and where vectors are kept."""
