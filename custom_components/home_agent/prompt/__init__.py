"""The form of what the model reads: the default prompt, the owner's template, the two parts."""
