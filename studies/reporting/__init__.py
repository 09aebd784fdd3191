"""From rows to what people read: progress, tables, pages and LaTeX."""
