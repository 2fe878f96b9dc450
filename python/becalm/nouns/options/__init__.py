"""The options of each kind of study: one frozen value with one JSON form, which is the stored row."""
