"""Response surfaces: polynomials fitted to a designed experiment, tested, diagnosed, analysed and optimised.

Pure functions on arrays in coded units: `terms` says which terms a model has, `least_squares` fits them, `surface` is a
fitted one, `anova` tests and compares models, `box_cox`, `diagnostics` and `effects` look at a fit, `canonical` and
`optimum` at the surface, `desirability` at several. Digits are those of R's `lm` and `anova` and its package rsm.
"""
