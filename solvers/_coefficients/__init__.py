"""How problems with free coefficients are solved."""
