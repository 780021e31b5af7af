"""The documentation of identity-service as files, in the folder ``site``: a service that has this package serves them."""
