"""An inventory's text changed in one place: all that people wrote beside it stays."""
