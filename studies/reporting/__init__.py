"""From rows to what people read: progress, tables and figure."""
