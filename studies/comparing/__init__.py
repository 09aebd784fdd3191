"""What `bagging` and `boosting` share: folds of many data sets, protocols, models compared."""
