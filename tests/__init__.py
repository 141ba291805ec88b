"""Tests of Home Agent; the folders mirror the package."""
