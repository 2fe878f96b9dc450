"""The views of `becalm watch`: `live` and `lines` of a machine, `terminal`, `markdown` and `html` of one run.

All of them share the texts in `tables` and the numbers and sparklines in `numbers`. `history` holds what was seen so
far, `prometheus` is for machines, and `keys` end a view.
"""
