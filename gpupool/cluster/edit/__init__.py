"""Edit the text of an inventory in one place: comments and layout around it stay."""
