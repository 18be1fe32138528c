"""A run as a page to read: figures, tables, and the items that say most, in HTML and Markdown."""
