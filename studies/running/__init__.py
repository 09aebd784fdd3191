"""From a plan to rows: cells run one by one, each in a process of its own."""
