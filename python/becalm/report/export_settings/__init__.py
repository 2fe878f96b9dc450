"""Settings as files of a system: a module of this folder and a row of `forms` for each form."""
