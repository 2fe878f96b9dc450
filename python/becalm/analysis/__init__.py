"""From runs to numbers: comparison, confirmation, diagnostics, noise floor, contamination, pooled hosts. Pure."""
