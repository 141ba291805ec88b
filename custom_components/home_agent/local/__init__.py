"""What the house answers by itself: Home Assistant's own sentences, under our policy."""
