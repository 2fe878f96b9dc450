"""The results: frozen values that verbs return, one file per verb, named as the verb is. Each has one JSON form."""
