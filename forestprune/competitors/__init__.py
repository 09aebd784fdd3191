"""Methods of making ensembles smaller, by name: the public files are the methods."""
