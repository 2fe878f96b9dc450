"""Files that people and other tools write: their text in any encoding, and what they are when becalm cannot use them.

Public: `text` (read_text, text_of) and `kinds` (kind_of).
"""
