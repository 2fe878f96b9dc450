"""Response surfaces: polynomials fitted to a designed experiment, tested, diagnosed, analysed and optimised.

Pure functions on arrays in coded units, whose results agree with R's `lm`, `anova` and package rsm:

- `terms` lists the terms of a model, `least_squares` fits them, `surface` is a fitted model
- `anova` tests and compares models; `box_cox`, `diagnostics` and `effects` examine a fit
- `canonical` and `optimum` analyse the surface, `desirability` several surfaces
"""
