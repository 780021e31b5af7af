"""Verification of credentials and presentations as W3C VCALM (formerly the VC API) defines it."""
