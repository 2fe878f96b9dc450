"""Designs of experiments: which runs to make so that a model of the response can be fitted, as pure functions.

`factorial` has two-level factorials and regular fractions, `plackett_burman` two-level designs of many factors,
`foldover` the second half that clears them; `central_composite` and `box_behnken` are designs for response surfaces.
`assemble` makes a Design of one of them and some factors; `becalm.designs.sheet` reads the filled worksheet.
Points are in coded units (`becalm.nouns.factor`).
"""
