"""The rules of suite 2: frozen values and pure functions. Provers and commands import them without the extension."""
