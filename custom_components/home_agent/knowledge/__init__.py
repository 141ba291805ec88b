"""What the owner wants the assistants to know: passages of documents, found when they are asked about."""
