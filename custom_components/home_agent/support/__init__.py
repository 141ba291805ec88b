"""What every room stands on: errors, texts, files, requests to other computers."""
