"""Estimators for scikit-learn."""

from forestprune.estimators.classifier import ForestPrunerClassifier
from forestprune.estimators.cross_validation import ForestPrunerCV
from forestprune.estimators.regressor import ForestPrunerRegressor

__all__ = ["ForestPrunerCV", "ForestPrunerClassifier", "ForestPrunerRegressor"]
