"""The nouns: frozen values with one JSON form each. Nothing here touches the machine, the store or the terminal."""
