"""The views of `becalm watch`: `live` and `lines` of a machine, `terminal`, `markdown` and `html` of one run.

`tables` and `sentences` have the text that all of them share, `numbers` the units and sparklines, `history` what was
seen until now, `stored` computes a report of what the store has, `prometheus` is for machines, `keys` end a view.
"""
