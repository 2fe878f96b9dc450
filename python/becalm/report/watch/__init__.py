"""The views of `becalm watch`: `live` and `lines` of a machine, `terminal`, `markdown` and `html` of one run.

All of them share the texts in `tables` and the numbers and sparklines in `numbers`. `history` holds the readings so
far, `prometheus` is the view for programs, and `keys` reads the keys that end a view.
"""
