"""Designs of experiments: which runs to make so that a model of the response can be fitted, as pure functions.

`factorial` has two-level factorials and regular fractions, `central_composite` and `box_behnken` designs for response
surfaces; `assemble` makes a Design of one of them and some factors, `sheet` writes it for a spreadsheet and reads what
came back. Points are in coded units (`becalm.nouns.factor`).
"""
