"""How a caller proves who it is: challenges, signatures and access tokens."""
