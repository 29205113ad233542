"""Edit single entries and values in an inventory's text; comments and layout around them stay."""
