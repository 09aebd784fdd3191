"""The perspective relaxation of problems with free coefficients: points and bounds."""
