"""Settings as files of a system: one file of this folder for a form, one row of `forms` for each."""
