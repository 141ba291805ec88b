"""Domains that a router can send a part of a request to."""
