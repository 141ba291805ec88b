"""Who answers: the settings of an assistant."""
