"""The wire: from chat log to request, from stream to deltas."""
