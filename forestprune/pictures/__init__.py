"""Pictures of models and results: matplotlib axes in, axes out."""
