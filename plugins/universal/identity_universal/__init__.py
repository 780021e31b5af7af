"""DID resolution and registration in the forms of the DIF Universal Resolver and Universal Registrar."""
