"""How problems whose coefficients are fixed are solved."""
